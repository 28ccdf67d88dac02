"""Every error a user can see.

    MillstreamError
    ├── ScriptError      the script, an option or an argument is wrong; nothing was started (exit 2)
    ├── SetupError       this machine lacks something: Java, the JVM parts, jars in an existing session
    ├── BrokerError      Kafka cannot be reached, or a topic is missing
    ├── JobError         a running job failed
    └── InternalError    a bug in Millstream

An error has one or more diagnostics. Each has a stable code, a primary line, and where they help a position in the
script, a detail and a hint. Tests compare codes, never prose. `error_catalogue` explains each code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from millstream.secrets import without_url_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from millstream.source import Span


T = TypeVar("T")


class Code(StrEnum):
    """Stable. M1 text, M2 tables and options, M3 changelog, M4 Kafka, M5 jobs, M6 the machine, M9 internal errors."""

    SYNTAX = "M1001"
    UNSUPPORTED_STATEMENT = "M1002"
    UNSUPPORTED_EXPRESSION = "M1003"
    MISSING_PARAMETER = "M1004"
    UNREADABLE_SCRIPT = "M1005"
    BAD_ARGUMENT = "M1006"
    UNDEFINED_FUNCTION = "M1007"

    UNDEFINED_TABLE = "M2001"
    DUPLICATE_TABLE = "M2002"
    UNDEFINED_COLUMN = "M2003"
    DUPLICATE_COLUMN = "M2004"
    UNSUPPORTED_TYPE = "M2005"
    INVALID_PRIMARY_KEY = "M2006"
    INVALID_WATERMARK = "M2007"
    SINK_SCHEMA_MISMATCH = "M2008"
    TYPE_MISMATCH = "M2009"
    MISSING_CONNECTOR = "M2010"
    UNDEFINED_CONNECTOR = "M2011"
    UNDEFINED_FORMAT = "M2012"
    MISSING_OPTION = "M2013"
    UNDEFINED_OPTION = "M2014"
    INVALID_OPTION_VALUE = "M2015"
    CONFLICTING_OPTIONS = "M2016"
    MISSING_PRIMARY_KEY = "M2017"
    NOT_A_SOURCE = "M2018"
    INVALID_FUNCTION = "M2019"
    NOT_A_SINK = "M2020"
    NOT_BUILT_YET = "M2021"
    INVALID_METADATA = "M2022"

    SINK_REFUSES_CHANGES = "M3001"
    SINK_KEY_DIFFERS = "M3002"

    BROKER_UNREACHABLE = "M4001"
    TOPIC_MISSING = "M4002"
    TOPIC_NOT_CREATED = "M4003"
    OFFSETS_UNAVAILABLE = "M4004"
    BROKER_REFUSED = "M4005"

    JOB_FAILED = "M5001"
    UNDECODABLE_MESSAGE = "M5002"
    CHECKPOINT_MISMATCH = "M5003"
    NULL_IN_KEY = "M5004"
    CHECKPOINT_IN_USE = "M5005"
    EXPRESSION_FAILED = "M5006"
    UNWRITABLE_ROW = "M5007"
    TAKEN_OVER = "M5008"
    DELIVERY_UNCERTAIN = "M5009"
    STATE_TOO_LARGE = "M5010"

    JAVA_MISSING = "M6001"
    JAVA_VERSION = "M6002"
    JVM_PARTS_UNAVAILABLE = "M6003"
    JVM_PARTS_DAMAGED = "M6004"
    BROKER_NOT_STARTED = "M6005"
    SPARK_SESSION_INCOMPLETE = "M6006"
    SPARK_NOT_STARTED = "M6007"
    SPARK_ALREADY_RUNNING = "M6008"

    INTERNAL = "M9001"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem in three parts: what, why, and what to do."""

    code: Code
    primary: str
    span: Span | None = None
    detail: str | None = None
    hint: str | None = None

    def render(self) -> str:
        shown = self._format_line
        parts = [f"error[{self.code}] {shown(self.primary)}"]
        if self.span is not None:
            parts.append(self.span.excerpt())
        if self.detail:
            parts.append(f"detail: {shown(self.detail)}")
        if self.hint:
            parts.append(f"hint: {shown(self.hint)}")
        return "\n".join(parts)

    def as_json(self) -> dict[str, Any]:
        from millstream.error_catalogue import explanation_of  # which imports this module

        return {
            "code": self.code.value,
            "title": explanation_of(self.code).title,
            "primary": self._format_line(self.primary),
            "detail": self.detail and self._format_line(self.detail),
            "hint": self.hint and self._format_line(self.hint),
            "place": self.span.as_json() if self.span is not None else None,
        }

    def _format_line(self, message: str) -> str:
        if self.span is None:
            return without_url_credentials(message)
        return self.span.source.discreet(message, self.span.start)


class MillstreamError(Exception):
    """Base of all errors meant for the user. `exit_code` is what the command line returns."""

    exit_code: ClassVar[int] = 1

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        self.diagnostics = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        super().__init__(self.diagnostics)

    @property
    def code(self) -> Code:
        return self.diagnostics[0].code

    def __str__(self) -> str:
        return "\n\n".join(diagnostic.render() for diagnostic in self.diagnostics)

    def as_json(self) -> dict[str, Any]:
        return {"errors": [diagnostic.as_json() for diagnostic in self.diagnostics]}


class ScriptError(MillstreamError):
    exit_code: ClassVar[int] = 2


def by_place(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Without duplicates, in the order of the script."""
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.span.start if problem.span else -1)


class Problems:
    """Collects the errors of several independent checks, to raise them as one.

    >>> problems = Problems()
    >>> value = problems.of(lambda: 1 + 1)  # None where it raised a ScriptError
    >>> problems.raise_all()
    """

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []

    def of(self, check: Callable[[], T]) -> T | None:
        try:
            return check()
        except ScriptError as error:
            self._found += error.diagnostics
            return None

    def raise_all(self) -> None:
        if self._found:
            raise ScriptError(self._found)


class SetupError(MillstreamError):
    pass


class BrokerError(MillstreamError):
    pass


class JobError(MillstreamError):
    pass


class InternalError(MillstreamError):
    pass
