"""What travels through Spark's exceptions arrives whole, and what Spark says often is told in the user's terms.

The texts in exceptions/ are those of Spark 4.2 and Kafka's client 4.1, of queries that were made to fail.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millstream.errors import Code, Diagnostic
from millstream.source import SourceText
from millstream.spark.failure_patterns import PATTERNS, FailurePattern
from millstream.spark.job_errors import (
    DeadLetterError,
    TableHalf,
    UndecodableMessageError,
    UnwritableRowError,
    job_error,
    null_in_key,
)

PLAN = f"== plan ==\nraise_error({null_in_key('customer', 'totals')})"
EXCEPTIONS = Path(__file__).parent / "exceptions"
TOLD = {
    "cast_invalid_input": (Code.EXPRESSION_FAILED, "'zero', which is not a valid INT"),
    "cast_overflow": (Code.EXPRESSION_FAILED, "3000000000, which does not fit into INT"),
    "decimal_out_of_range": (Code.EXPRESSION_FAILED, "1000, which does not fit into DECIMAL(3, 0)"),
    "divide_by_zero": (Code.EXPRESSION_FAILED, "NULLIF"),
    "remainder_by_zero": (Code.EXPRESSION_FAILED, "NULLIF"),
    "arithmetic_overflow": (Code.EXPRESSION_FAILED, "larger type"),
    "not_base64": (Code.EXPRESSION_FAILED, "a text that is not Base64"),
    "unknown_charset": (Code.EXPRESSION_FAILED, "nope, which is not a charset"),
    "array_index": (Code.EXPRESSION_FAILED, "element 1 of an array of 1"),
    "records_deleted": (Code.OFFSETS_UNAVAILABLE, "from 5 up to 10"),
    "topic_recreated": (Code.OFFSETS_UNAVAILABLE, "up to offset 5 and ends at 2"),
    "topic_deleted": (Code.TOPIC_MISSING, "was deleted"),
    "broker_away": (Code.BROKER_UNREACHABLE, "Timed out waiting for a node assignment"),
    "number_of_sources": (Code.CHECKPOINT_MISMATCH, "another query"),
    "offset_log_damaged": (Code.CHECKPOINT_MISMATCH, "damaged"),
    "batch_ended_by_another": (Code.CHECKPOINT_MISMATCH, "Stop the other process"),
    "worker_crashed": (Code.JOB_FAILED, "workers ended unexpectedly"),
    "worker_daemon_killed": (Code.JOB_FAILED, "workers ended unexpectedly"),
    "worker_out_of_memory": (Code.JOB_FAILED, "memory ran out"),
    "worker_raised": (Code.JOB_FAILED, "detail: ValueError: boom inside\n"),
    "client_not_created": (Code.JOB_FAILED, "'properties.'"),
}
FROM_KAFKAS_SOURCES = {
    "TopicAuthorizationException: Not authorized to access topics: [orders]": "[orders].",
    "GroupAuthorizationException: Not authorized to access group: reports": "group: reports.",
    "SaslAuthenticationException: Authentication failed: Invalid username or password": "password.",
}


@pytest.mark.parametrize("text", ["plain", "a >> b", 'with "quotes" and \\', "two\nlines"])
def test_undecodable_message(text: str) -> None:
    raised = UndecodableMessageError(TableHalf("orders", "key", "csv"), "orders-1", 3, 42, text)
    place = SourceText("totals.sql", "CREATE TABLE orders").span(13, 19)
    error = job_error(
        "totals",
        RuntimeError(f"Traceback\nmillstream.UndecodableMessageError: {raised}\n{PLAN}"),
        tables={"orders": place},
    )
    assert error.code is Code.UNDECODABLE_MESSAGE
    assert error.diagnostics[0].span == place
    assert error.diagnostics[0].detail == f"Topic orders-1, partition 3, offset 42, key: {text}"


def test_only_what_a_format_can_do_is_offered() -> None:
    hints = {}
    for format_ in ("json", "avro"):
        raised = UndecodableMessageError(TableHalf("t", "value", format_), "t", 0, 0, "?")
        hints[format_] = str(job_error("j", RuntimeError(f"UndecodableMessageError: {raised}")).diagnostics[0].hint)
    assert "'ignore-parse-errors' of format 'json'" in hints["json"]
    assert "ignore-parse-errors" not in hints["avro"]
    assert all("'scan.dead-letter.topic'" in hint for hint in hints.values())


def test_dead_letters_that_were_not_written() -> None:
    place = "Topic t, partition 1, offset 7"
    for size, remedy in ((None, "can be written to"), (2048, 'max.message.bytes of topic "dead"')):
        raised = DeadLetterError("orders", "dead", "Broker: no", place, size)
        error = job_error("j", RuntimeError(f"millstream.spark.job_errors.DeadLetterError: {raised}\n{PLAN}"))
        assert error.code is Code.JOB_FAILED
        [diagnostic] = error.diagnostics
        assert '"dead"' in diagnostic.primary
        assert diagnostic.detail == f"{place}: Broker: no."
        assert remedy in str(diagnostic.hint)
        assert ("2048" in str(diagnostic.hint)) is (size is not None)


def test_null_in_key() -> None:
    error = job_error("j", RuntimeError(f"[USER_RAISED_EXCEPTION] {null_in_key('customer', 'totals')} SQLSTATE"))
    assert error.code is Code.NULL_IN_KEY
    assert '"customer"' in error.diagnostics[0].primary


def test_unwritable_row() -> None:
    raised = UnwritableRowError("totals", "Partitioner 'a:B' chose 7.")
    error = job_error("j", RuntimeError(f"Traceback\nmillstream.spark.job_errors.UnwritableRowError: {raised}\n{PLAN}"))
    assert error.code is Code.UNWRITABLE_ROW
    assert '"totals"' in error.diagnostics[0].primary
    assert error.diagnostics[0].detail == "Partitioner 'a:B' chose 7."


def test_mark_in_the_plan_is_no_cause() -> None:
    error = job_error("j", RuntimeError(f"boom\nCaused by: java.io.IOException: broken pipe\n{PLAN}"))
    assert error.code is Code.JOB_FAILED
    assert error.diagnostics[0].detail == "broken pipe"


def test_what_the_jvm_threw_says_more_than_the_call() -> None:
    text = (
        "An error occurred while calling o1.start.\n: java.lang.IllegalStateException: closed\n\tat a.b.C.d(C.java:1)"
    )
    assert job_error("j", RuntimeError(text)).diagnostics[0].detail == "closed"


def test_words_of_the_users_query_are_no_cause() -> None:
    error = job_error("j", RuntimeError("boom\n\n=== Streaming Query ===\nProject ['OutOfMemoryError' AS reason]"))
    assert error.diagnostics[0].detail == "boom"


@pytest.mark.parametrize("name", TOLD)
def test_exception_of_spark(name: str) -> None:
    code, words = TOLD[name]
    message = (EXCEPTIONS / f"{name}.txt").read_text()
    error = job_error("totals", RuntimeError(message))
    assert error.code is code
    assert words in str(error)
    assert '"totals"' in error.diagnostics[0].primary
    assert error.diagnostics[0].hint
    assert str(error.__cause__) == message


@pytest.mark.parametrize("message", FROM_KAFKAS_SOURCES)
def test_refusal_of_kafka(message: str) -> None:
    diagnostic = translate(f"org.apache.kafka.common.errors.{message}. SQLSTATE: XXKST")
    assert diagnostic.code is Code.BROKER_REFUSED
    assert str(diagnostic.detail).endswith(FROM_KAFKAS_SOURCES[message])


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("java.io.IOException: No space left on device", "disk is full"),
        ("java.lang.OutOfMemoryError: Java heap space", "memory ran out"),
        (
            'millstream.private_folder.NotPrivateError: temporary folder "/tmp/m" is not private: it is not a folder',
            "its temporary files",
        ),
    ],
)
def test_machine_at_its_limits(message: str, words: str) -> None:
    diagnostic = translate(f"Task 0 in stage 9.0 failed 1 times\nCaused by: {message}")
    assert diagnostic.code is Code.JOB_FAILED
    assert words in diagnostic.primary


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.primary)
def test_primary_line_needs_only_what_always_matches(pattern: FailurePattern) -> None:
    assert set(re.findall(r"\{(\w+)\}", pattern.primary)) <= {"job", *pattern.words.groupindex}
    assert set(re.findall(r"\{(\w+)\}", pattern.detail or "")) <= set(pattern.words.groupindex)


def translate(text: str) -> Diagnostic:
    return job_error(
        "totals", RuntimeError(f"[STREAM_FAILED] Query [id = 1] terminated with exception: {text}")
    ).diagnostics[0]


def test_causes_that_spark_keeps_to_itself_are_told_without_secrets() -> None:
    thrown = (EXCEPTIONS / "client_not_created.txt").read_text()
    causes = ("org.apache.kafka.KafkaException: Failed to create it", "java.lang.IllegalArgumentException: not tiger")
    error = job_error("totals", RuntimeError(thrown), causes, discreet=lambda text: text.replace("tiger", "******"))
    assert error.diagnostics[0].detail == "not ******."
    assert "tiger" not in str(error.__cause__)
