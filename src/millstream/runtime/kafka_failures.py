"""What Kafka's client says, told in the user's terms. The one place where it is translated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError, KafkaException

from millstream.errors import BrokerError, Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.errors import MillstreamError
    from millstream.source import Span

_BROKER: Final = re.compile(r"^(?:\w+://)?[^/\s]+/\w+: |\bipv[46]#")
_CIRCUMSTANCE: Final = re.compile(r" \(after \d+ms in state \w+.*\)$")
_ANSWERLESS: Final = (
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
)
"""The vaguer, the later."""


@dataclass(frozen=True, slots=True)
class _Translation:
    codes: tuple[int, ...]
    code: Code
    primary: str
    hint: str
    detail: str | None = None
    """In place of the client's words, where those help nobody."""


_TRANSLATIONS: Final = (
    _Translation(
        (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED),  # noqa: SLF001
        Code.BROKER_REFUSED,
        "Kafka at {servers} did not accept the credentials",
        "Correct 'properties.sasl.mechanism' and 'properties.sasl.jaas.config'.",
    ),
    _Translation(
        (
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            KafkaError.GROUP_AUTHORIZATION_FAILED,
            KafkaError.CLUSTER_AUTHORIZATION_FAILED,
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
        Code.BROKER_REFUSED,
        "Kafka at {servers} does not allow it: {doing}",
        "Have the user allowed to describe and read the source topics, to write the sink topics, and to use the group.",
    ),
    _Translation(
        (KafkaError._SSL,),  # noqa: SLF001
        Code.BROKER_UNREACHABLE,
        "no secure connection to {servers} came about",
        "Check 'properties.security.protocol' and the certificates in 'properties.ssl.*'.",
    ),
    _Translation(
        (KafkaError._RESOLVE,),  # noqa: SLF001
        Code.BROKER_UNREACHABLE,
        "no Kafka broker answers at {servers}",
        "Correct the host name in 'properties.bootstrap.servers'.",
    ),
    _Translation(
        _ANSWERLESS,
        Code.BROKER_UNREACHABLE,
        "no Kafka broker answers at {servers}",
        "Check the address and that the broker runs; `millstream broker` starts one on this machine.",
    ),
    _Translation(
        (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION),  # noqa: SLF001
        Code.TOPIC_MISSING,
        "{doing}",
        "Create the topic, or correct 'topic' in the table's WITH clause.",
        "The topic does not exist.",
    ),
    _Translation(
        (KafkaError.TOPIC_EXCEPTION,),
        Code.TOPIC_NOT_CREATED,
        "{doing}",
        "A topic's name has at most 249 letters, digits, '.', '_' and '-'; correct 'topic'.",
    ),
    _Translation(
        (KafkaError.POLICY_VIOLATION, KafkaError.INVALID_REPLICATION_FACTOR, KafkaError.INVALID_PARTITIONS),
        Code.TOPIC_NOT_CREATED,
        "{doing}",
        "Create the topic with the number of partitions and replicas that this cluster asks for.",
    ),
    _Translation(
        (KafkaError._INVALID_ARG, KafkaError._CONFLICT),  # noqa: SLF001
        Code.INVALID_OPTION_VALUE,
        "the properties for {servers} do not fit together",
        "Correct the option under 'properties.' that the detail speaks of.",
    ),
)


def broker_error(
    error: KafkaException | TimeoutError,
    doing: str,
    servers: str,
    *,
    code: Code,
    heard: Iterable[KafkaError] = (),
    span: Span | None = None,
) -> MillstreamError:
    """The error of a question to Kafka.

    `doing` and `code` tell of it where no translation does better. `heard` is what the client reported meanwhile: its
    answer says no more than that nobody answered.
    """
    cause = _telling(error, heard)
    translation = next((entry for entry in _TRANSLATIONS if cause and cause.code() in entry.codes), None)
    code = translation.code if translation else code
    kind = ScriptError if code is Code.INVALID_OPTION_VALUE else BrokerError
    return kind(
        Diagnostic(
            code,
            translation.primary.format(servers=servers, doing=doing) if translation else doing,
            span,
            detail=(translation and translation.detail) or _in_short(cause),
            hint=translation.hint if translation else "Try again; `--verbose` shows what the client said.",
        )
    )


def _telling(error: KafkaException | TimeoutError, heard: Iterable[KafkaError]) -> KafkaError | None:
    """Of all that was said the most specific."""
    answer: KafkaError | None = error.args[0] if isinstance(error, KafkaException) else None
    if answer is not None and answer.code() not in _ANSWERLESS:
        return answer
    said = [*heard, *([answer] if answer is not None else [])]
    return min(said, key=_vagueness, default=None)


def _vagueness(said: KafkaError) -> int:
    return _ANSWERLESS.index(said.code()) + 1 if said.code() in _ANSWERLESS else 0


def _in_short(said: KafkaError | None) -> str:
    """Without the client's address of the broker and its clock."""
    if said is None:
        return "The answer took too long."
    text = _CIRCUMSTANCE.sub("", _BROKER.sub("", str(said.str()))).removeprefix("Broker: ")
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
