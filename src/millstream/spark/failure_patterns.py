"""The wording of common failures in Spark and its Kafka client, and what they mean to the user."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from millstream.errors import Code, Diagnostic

WORKER_ENDED: Final = (
    "Python worker (?:exited unexpectedly|failed to connect back)|while reading the port number from [^\n]+'s stdout"
)
"""The last one concerns the process that forks the workers."""
_GO_ON: Final = "Start it again to continue from its last finished batch."
START_OVER: Final = "Start over with --fresh to read what is there now; earlier results are computed again."
WITHOUT_THEM: Final = (
    "Start over with --fresh to read what is there now, "
    "or continue without them with 'scan.fail-on-data-loss' = 'false'."
)


@dataclass(frozen=True, slots=True)
class FailurePattern:
    """Texts may refer to `{job}` and the groups of the expression; a detail whose group did not match is omitted."""

    words: re.Pattern[str]
    code: Code
    primary: str
    hint: str
    detail: str | None = None

    def diagnostic(self, job: str, message: str) -> Diagnostic | None:
        found = self.words.search(message)
        if found is None:
            return None
        names = {"job": job, **{name: _plain(part) for name, part in found.groupdict().items() if part is not None}}
        detail = self.detail.format_map(names) if self.detail and _is_complete(self.detail, names) else None
        return Diagnostic(self.code, self.primary.format_map(names), detail=detail, hint=self.hint)


def _is_complete(template: str, names: dict[str, str]) -> bool:
    return all(name in names for name in re.findall(r"\{(\w+)\}", template))


def _plain(text: str) -> str:
    """Spark marks the type of a number with a letter."""
    return re.sub(r"^(-?[\d.]+(?:E-?\d+)?)[LDSB]$", r"\1", text.strip())


def _patterns(*rows: tuple[str, Code, str, str | None, str]) -> tuple[FailurePattern, ...]:
    return tuple(
        FailurePattern(re.compile(words), code, primary, hint, detail) for words, code, primary, detail, hint in rows
    )


def _any_of(*words: str) -> str:
    return f"(?:{'|'.join(words)})"


_REST: Final = r"(?:: (?P<said>[^\n]*?))?\.?(?: SQLSTATE|\n|$)"
"""The message of an exception, after its class name."""
_LAST_CAUSE: Final = r"(?:[\s\S]*\nCaused by: (?:[\w.$]+: )?(?P<said>[^\n]*?)\.?(?:\n|$))?"
_FILE: Final = r"(?s:.*?\bfile:(?P<file>/\S+?)[,.;:]?(?=\s|$))?"
"""The first file named after the preceding match; it may be on another line."""
_PARTITION: Final = r"(?P<topic>\S+)-(?P<partition>\d+)"
_VALUE: Final = r'The value (?P<value>.*?) of the type "[^"]+" cannot be cast to "(?P<type>[^"]+)"'
_TRY_CAST: Final = "Use TRY_CAST, which gives NULL for such a value, or filter the row."

_EXPRESSIONS: Final = _patterns(
    (
        rf"\[CAST_INVALID_INPUT\] {_VALUE}",
        Code.EXPRESSION_FAILED,
        'job "{job}" encountered {value}, which is not a valid {type}',
        None,
        _TRY_CAST,
    ),
    (
        rf"\[CAST_OVERFLOW\] {_VALUE}",
        Code.EXPRESSION_FAILED,
        'job "{job}" encountered {value}, which does not fit into {type}',
        None,
        "CAST to a larger type, or use TRY_CAST, which gives NULL for such a value.",
    ),
    (
        r"\[NUMERIC_VALUE_OUT_OF_RANGE[^]]*\]\s+(?P<value>\S+) cannot be represented as Decimal\((?P<digits>[\d, ]+)\)",
        Code.EXPRESSION_FAILED,
        'job "{job}" encountered {value}, which does not fit into DECIMAL({digits})',
        None,
        "CAST to a DECIMAL with more digits, or use TRY_CAST, which gives NULL for such a value.",
    ),
    (
        r"\[(?:DIVIDE|REMAINDER|INTERVAL_DIVIDED)_BY_ZERO\]",
        Code.EXPRESSION_FAILED,
        'job "{job}" divided by zero',
        None,
        "Write NULLIF(divisor, 0): the result is NULL then.",
    ),
    (
        r"\[(?:(?:BINARY_|INTERVAL_)?ARITHMETIC|DATETIME)_OVERFLOW[^]]*\]",
        Code.EXPRESSION_FAILED,
        'a result of job "{job}" is too large for its type',
        None,
        "CAST an operand to a larger type, for example DECIMAL(38, 0).",
    ),
    (
        r"\[INVALID_ARRAY_INDEX[^]]*\] The index (?P<index>\S+) is out of bounds. The array has (?P<size>\d+)",
        Code.EXPRESSION_FAILED,
        'job "{job}" asked for element {index} of an array of {size}',
        None,
        "Compare with CARDINALITY(array) first.",
    ),
    (
        r"\[TEXT_TOO_LARGE\]",
        Code.EXPRESSION_FAILED,
        'an expression of job "{job}" gives a text of more than 2 GiB',
        None,
        "Shorten what it is made of, for example with LEFT(text, 1000).",
    ),
    (
        r"\[CANNOT_PARSE_TIMESTAMP\] (?P<said>.*?)\.? Use ",
        Code.EXPRESSION_FAILED,
        'job "{job}" encountered a text that is not a time',
        "{said}.",
        "Correct the pattern, or use TRY_CAST, which gives NULL for such a text.",
    ),
    (
        r"\[CONVERSION_INVALID_INPUT\] The value .* cannot be converted to \"BINARY\"",
        Code.EXPRESSION_FAILED,
        'job "{job}" encountered a text that is not Base64',
        "FROM_BASE64 accepts letters, digits, + and /, with or without = at the end.",
        "Filter the row, for example with REGEXP(text, '^[A-Za-z0-9+/]+=*$').",
    ),
    (
        r"\[INVALID_PARAMETER_VALUE\.CHARSET\].*?\bbut got (?P<charset>.*?)\.(?: SQLSTATE|\n|$)",
        Code.EXPRESSION_FAILED,
        'job "{job}" encountered {charset}, which is not a charset',
        None,
        "Use a charset that Java knows, for example 'UTF-8' or 'ISO-8859-1'.",
    ),
)

_KAFKA: Final = _patterns(
    (
        rf"Could not read records in offset \[(?P<first>\d+), (?P<end>\d+)\) for topic partition {_PARTITION}",
        Code.OFFSETS_UNAVAILABLE,
        'messages that job "{job}" has not read yet are gone from topic "{topic}"',
        "Partition {partition}, of the offsets from {first} up to {end}: retention or a deletion has removed them.",
        WITHOUT_THEM,
    ),
    (
        rf"Partition {_PARTITION} offset was changed from (?P<before>\d+) to (?P<now>\d+)",
        Code.OFFSETS_UNAVAILABLE,
        'topic "{topic}" is not the one that job "{job}" has read before',
        "Partition {partition} was read up to offset {before} and ends at {now}: the topic was deleted and re-created.",
        START_OVER,
    ),
    (
        rf"Starting offset for {_PARTITION} was (?P<before>\d+) but consumer reset to (?P<now>\d+)",
        Code.OFFSETS_UNAVAILABLE,
        'messages that job "{job}" has not read yet are gone',
        'Partition {partition} of topic "{topic}" was read up to offset {before} and begins at {now}.',
        WITHOUT_THEM,
    ),
    (
        _any_of(
            r"Partitions (?P<partitions>\S.*?) have been deleted",
            "Cannot find initial offsets for partitions",
            "Some of partitions in Kafka topic",
        ),
        Code.TOPIC_MISSING,
        'a topic that job "{job}" reads was deleted',
        "Partitions that are gone: {partitions}.",
        "Create the topic again, and start the job over with --fresh.",
    ),
    (
        r"UnknownTopicOrPartitionException|UnknownTopicIdException|UNKNOWN_TOPIC_OR_PART|_UNKNOWN_PARTITION|_UNKNOWN_TOPIC",
        Code.TOPIC_MISSING,
        'a topic of job "{job}" was deleted',
        None,
        "Create the topic again; a job that reads it must start over with --fresh.",
    ),
    (
        rf"(?:S(?:asl|sl)AuthenticationException|KafkaRefusedError: _(?:AUTHENTICATION|SSL)){_REST}",
        Code.BROKER_REFUSED,
        'Kafka did not accept the credentials of job "{job}"',
        "{said}.",
        "Correct 'properties.sasl.mechanism', 'properties.sasl.jaas.config' or the certificates in 'properties.ssl.*'.",
    ),
    (
        rf"(?:AuthorizationException|KafkaRefusedError: \w+AUTHORIZATION_FAILED){_REST}",
        Code.BROKER_REFUSED,
        'Kafka does not allow what job "{job}" does',
        "{said}.",
        "Allow the user to read the source topics, write the sink topics, and use the group.",
    ),
    (
        rf"Failed to (?:create new KafkaAdminClient|construct kafka consumer){_LAST_CAUSE}",
        Code.JOB_FAILED,
        'the Kafka client of job "{job}" does not accept its properties',
        "{said}.",
        "Check the options under 'properties.': those of SASL and SSL come in groups.",
    ),
    (
        rf"(?:kafka\.common\.errors\.(?:Timeout|Disconnect|Network|BrokerNotAvailable)Exception|KafkaAwayError){_REST}",
        Code.BROKER_UNREACHABLE,
        'no Kafka broker answers job "{job}" any more',
        "{said}.",
        f"Check that the brokers run. {_GO_ON}",
    ),
)

_CHECKPOINT: Final = _patterns(
    (
        r"StateFileError: file (?P<file>[^\n]+?) of the state is damaged: (?P<said>[^\n]+)",
        Code.CHECKPOINT_MISMATCH,
        "file {file} of the checkpoint is damaged",
        "{said}",
        "Put the file back if you have a copy, or start over with --fresh.",
    ),
    (
        "sources in the checkpoint offsets and now there are",
        Code.CHECKPOINT_MISMATCH,
        'the checkpoint of job "{job}" was written by another query',
        None,
        "Start over with --fresh, or keep the old state and name another folder with --checkpoint.",
    ),
    (
        _any_of(
            "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
            "CHECKSUM_VERIFICATION_FAILED",
            "MALFORMED_LOG_FILE",
            "Failed to read log file",
        )
        + _FILE,
        Code.CHECKPOINT_MISMATCH,
        'the checkpoint of job "{job}" is damaged',
        "Spark could not continue from {file}.",
        "Put its files back if you have a copy, or start over with --fresh.",
    ),
)

_TWO_WRITERS: Final = _patterns(
    (
        rf"Multiple streaming (?:queries are concurrently using|jobs detected for){_FILE}",
        Code.CHECKPOINT_MISMATCH,
        'the checkpoint of job "{job}" holds a file that the job was about to write',
        "It is in {file}. Another process writes there, or files were put back in part.",
        "Stop the other process; put all files back, or start over with --fresh.",
    ),
)

_MACHINE: Final = _patterns(
    (
        rf"UnpublishedFilesError{_REST}",
        Code.JOB_FAILED,
        'job "{job}" could not add files to the folder of its sink table',
        "{said}.",
        f"Check who may write there, and that no other job does. {_GO_ON}",
    ),
    (
        r"No space left on device",
        Code.JOB_FAILED,
        'job "{job}" failed: a disk is full',
        "The checkpoint folder or the folder for temporary files has no space left.",
        f"Make room there. {_GO_ON}",
    ),
    (
        r"NotPrivateError: (?P<said>[^\n]+)",
        Code.JOB_FAILED,
        'job "{job}" failed: another user of the machine can change its temporary files',
        "The {said}.",
        f"Set TMPDIR to a folder that no other user can write to. {_GO_ON}",
    ),
    (
        _any_of("OutOfMemoryError", r"\bMemoryError\b", "Cannot allocate memory"),
        Code.JOB_FAILED,
        'job "{job}" failed: memory ran out',
        None,
        "Lower 'millstream.batch.max-rows', or give Spark more with 'spark.driver.memory'. " + _GO_ON,
    ),
    (
        WORKER_ENDED,
        Code.JOB_FAILED,
        'job "{job}" failed: one of its workers ended unexpectedly',
        "It was killed or it crashed; when memory is short, the operating system kills the largest process.",
        f"{_GO_ON} If it happens again, lower 'millstream.batch.max-rows'.",
    ),
)

PATTERNS: Final = (*_EXPRESSIONS, *_CHECKPOINT, *_TWO_WRITERS, *_KAFKA, *_MACHINE)
"""The first that matches is used."""
