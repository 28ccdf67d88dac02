"""What passes by itself starts a job again; what would come back does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.delivery.delivery_error import Failure
from millstream.spark.job_errors import TableHalf, UndecodableMessageError, UndeliveredError, job_error
from millstream.spark.transient_failures import find_transient_failure

EXCEPTIONS = Path(__file__).parent / "exceptions"
PASS = {"broker_away": None, "topic_deleted": 3, "worker_crashed": 3, "worker_daemon_killed": 3}
"""Of the exceptions that are kept, with how often they are believed to pass."""
VALUE = TableHalf("t", "value", "json")
UNDELIVERED = {
    Failure.AWAY: None,
    Failure.NOT_READY: None,
    Failure.NO_TOPIC: 3,
    Failure.ENDED_BY_BROKER: 3,
    Failure.NO_PROCESS: 3,
}
"""What passes of that, with the same."""
KAFKA = "org.apache.kafka.common.errors"


@pytest.mark.parametrize("name", sorted(file.stem for file in EXCEPTIONS.glob("*.txt")))
def test_exception_of_spark(name: str) -> None:
    fault = find_transient_failure(job_error("totals", RuntimeError((EXCEPTIONS / f"{name}.txt").read_text())))
    assert (fault is not None) == (name in PASS)
    if fault is not None:
        assert fault.attempts == PASS[name]


@pytest.mark.parametrize(
    "message",
    [
        f"{KAFKA}.TimeoutException: Timed out waiting for a node assignment. Call: describeTopics",
        f"{KAFKA}.NotLeaderOrFollowerException: For requests intended only for the leader",
        f"{KAFKA}.CoordinatorLoadInProgressException: The coordinator is loading",
        f"{KAFKA}.NotEnoughReplicasException: Messages are rejected since there are fewer in-sync replicas",
        "java.util.concurrent.TimeoutException: Cannot fetch record for offset 42 in 120000 milliseconds",
        'cimpl.KafkaException: KafkaError{code=_TRANSPORT,val=-195,str="Local: Broker transport failure"}',
    ],
)
def test_passes(message: str) -> None:
    fault = find_transient_failure(job_error("totals", RuntimeError(f"Job aborted.\nCaused by: {message}")))
    assert fault is not None
    assert fault.attempts is None


@pytest.mark.parametrize(
    "message",
    [
        f"{KAFKA}.TopicAuthorizationException: Not authorized to access topics: [orders]",
        f"{KAFKA}.ProducerFencedException: There is a newer producer",
        'cimpl.KafkaException: KafkaError{code=_FENCED,val=-144,str="Local: This instance has been fenced"}',
        "java.io.IOException: No space left on device",
        '[CAST_INVALID_INPUT] The value \'x\' of the type "STRING" cannot be cast to "INT"',
        f"millstream.UndecodableMessageError: {UndecodableMessageError(VALUE, 't', 0, 1, 'Connection refused')}",
        "boom\n\n=== Streaming Query ===\nProject ['Connection refused' AS reason]",
    ],
)
def test_comes_back(message: str) -> None:
    assert find_transient_failure(job_error("totals", RuntimeError(f"Job aborted.\nCaused by: {message}"))) is None


@pytest.mark.parametrize("failure", Failure)
def test_undelivered_messages(failure: Failure) -> None:
    """A run that another has replaced must not take its place again."""
    message = f"millstream.spark.job_errors.UndeliveredError: {UndeliveredError('sink', failure, 'Local: Fenced.')}"
    error = job_error("totals", RuntimeError(f"Job aborted.\nCaused by: {message}"))
    fault = find_transient_failure(error)
    assert (fault is not None) == (failure in UNDELIVERED)
    if fault is not None:
        assert fault.attempts == UNDELIVERED[failure]
