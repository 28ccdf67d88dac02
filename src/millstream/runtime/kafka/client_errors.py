"""Translates errors of Kafka's client into the user's terms, by failure_patterns; the only place that does so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError, KafkaException

from millstream.errors import BrokerError, Code, Diagnostic, ScriptError
from millstream.runtime.kafka.broker_probe import Finding
from millstream.runtime.kafka.failure_patterns import OF_A_PROBE, OF_THE_CLIENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from millstream.errors import MillstreamError
    from millstream.runtime.kafka.broker_probe import Probe
    from millstream.runtime.kafka.failure_patterns import Pattern
    from millstream.source import Span

_BROKER: Final = re.compile(r"^(?:\w+://)?[^/\s]+/\w+: |\bipv[46]#")
_OPENSSL: Final = re.compile(r"error:\w+:[\w /]*:[\w ]*:")
_CIRCUMSTANCE: Final = re.compile(r" \(after \d+ms in state \w+.*\)$")
_ANSWERLESS: Final = (
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
)
"""From the most specific to the vaguest."""
_FINAL: Final = (KafkaError._AUTHENTICATION, KafkaError._SSL)  # noqa: SLF001
_SERVERS: Final = "bootstrap.servers"


@dataclass(frozen=True, slots=True)
class Question:
    """A request to Kafka: `doing` and `code` describe it if no pattern has a better description."""

    doing: str
    code: Code
    properties: Mapping[str, str]
    place: Callable[[str], Span] | None = None
    """Finds where an option of the table is written; None if it is not in the script."""
    at: str = f"properties.{_SERVERS}"
    """The option that the request is about."""


def broker_error(
    error: KafkaException | TimeoutError,
    question: Question,
    reported: Iterable[KafkaError] = (),
    probe: Probe | None = None,
) -> MillstreamError:
    """The error of a request to Kafka.

    `reported` are the errors that the client logged meanwhile: the exception itself only says that nobody answered.
    """
    cause = _most_specific(error, reported)
    if probe is not None and probe.finding is Finding.HANGS_UP and not _is_all_brokers_down(cause):
        probe = None  # a slow broker does not disconnect its clients
    pattern = OF_A_PROBE[probe.finding] if probe else _pattern(cause, question.properties)
    code = pattern.code if pattern else question.code
    detail = probe.detail if probe else _in_short(cause)
    names = _names(question, pattern, cause)
    kind = ScriptError if code is Code.INVALID_OPTION_VALUE else BrokerError
    return kind(
        Diagnostic(
            code,
            pattern.primary.format_map(names) if pattern else question.doing,
            _span(question, pattern),
            detail=pattern.detail.format_map(names) if pattern and pattern.detail else detail,
            hint=pattern.hint.format_map(names) if pattern else "Try again; `--verbose` shows what the client said.",
        )
    )


def is_final(error: KafkaException, reported: Iterable[KafkaError], properties: Mapping[str, str]) -> bool:
    """Whether retrying is pointless: a wrong password stays wrong."""
    cause = _most_specific(error, reported)
    pattern = _pattern(cause, properties)
    return cause is not None and pattern is not None and (bool(pattern.words) or cause.code() in _FINAL)


def is_unclear(error: KafkaException | TimeoutError, reported: Iterable[KafkaError]) -> bool:
    """Whether probing the broker may reveal more than its client did."""
    cause = _most_specific(error, reported)
    return cause is not None and (cause.code() == KafkaError._SSL or _is_all_brokers_down(cause))  # noqa: SLF001


def _is_all_brokers_down(cause: KafkaError | None) -> bool:
    return cause is not None and cause.code() == KafkaError._ALL_BROKERS_DOWN  # noqa: SLF001


def _pattern(cause: KafkaError | None, properties: Mapping[str, str]) -> Pattern | None:
    if cause is None:
        return None
    text = str(cause.str())
    return next(
        (
            pattern
            for pattern in OF_THE_CLIENT
            if cause.code() in pattern.codes
            and re.search(pattern.words, text)
            and not (pattern.lacks and any(key.startswith(pattern.lacks) for key in properties))
        ),
        None,
    )


def _names(question: Question, pattern: Pattern | None, cause: KafkaError | None) -> dict[str, str]:
    protocol = question.properties.get("security.protocol", "PLAINTEXT").upper()
    login, transport = ("SASL_" if protocol.startswith("SASL") else ""), ("SSL" if "SSL" in protocol else "PLAINTEXT")
    found = re.search(pattern.words, str(cause.str())) if pattern and cause else None
    return {
        "servers": question.properties[_SERVERS],
        "doing": question.doing,
        "encrypted": f"{login}SSL",
        "plain": f"{login}PLAINTEXT",
        "authenticated": f"SASL_{transport}",
        "anonymous": transport,
        **(found.groupdict() if found else {}),
    }


def _span(question: Question, pattern: Pattern | None) -> Span | None:
    if question.place is None:
        return None
    about = pattern.at if pattern else ()
    written = next((f"properties.{key}" for key in about if key in question.properties), None)
    return question.place(written or question.at)


def _most_specific(error: KafkaException | TimeoutError, reported: Iterable[KafkaError]) -> KafkaError | None:
    """The most specific of all errors."""
    answer: KafkaError | None = error.args[0] if isinstance(error, KafkaException) else None
    if answer is not None and answer.code() not in _ANSWERLESS:
        return answer
    errors = [*reported] or ([answer] if answer is not None else [])
    return min(errors, key=_vagueness, default=None)


def _vagueness(error: KafkaError) -> int:
    return _ANSWERLESS.index(error.code()) + 1 if error.code() in _ANSWERLESS else 0


def _in_short(error: KafkaError | None) -> str:
    """The message without the broker's address and the client's clock."""
    if error is None:
        return "The answer took too long."
    text = _CIRCUMSTANCE.sub("", _OPENSSL.sub("", _BROKER.sub("", str(error.str())))).removeprefix("Broker: ")
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
