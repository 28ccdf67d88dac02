"""A format as data: its options, its changelog, the types it rejects and its metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from millstream.catalog.options import ConfigOption, Role
from millstream.changelog import INSERT_ONLY, ChangelogMode
from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.catalog.option_reader import OptionReader
    from millstream.source import Span
    from millstream.sql.types import DataType


class CarriedColumn(Protocol):
    """The properties of a column that matter to a format."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> DataType: ...

    @property
    def span(self) -> Span: ...


class Format(Protocol):
    """A format with its options resolved: everything that a decoder or encoder needs."""

    @property
    def name(self) -> str: ...

    @property
    def changelog(self) -> ChangelogMode: ...


@dataclass(frozen=True, slots=True)
class MetadataKey:
    """A key of `METADATA FROM 'value.<key>'`."""

    key: str
    type: DataType
    doc: str


@dataclass(frozen=True, slots=True)
class DeclaredUse:
    """One use of a format: its options, and the columns that it encodes."""

    reader: OptionReader
    named_by: ConfigOption[str]
    under: str
    values: dict[str, Any]
    columns: tuple[CarriedColumn, ...]
    role: Role

    @property
    def written(self) -> bool:
        return self.role is Role.SINK

    def has(self, option: ConfigOption[Any]) -> bool:
        return self.reader.has(self.under + option.key)

    def report(
        self, code: Code, primary: str, option: ConfigOption[Any], detail: str | None = None, hint: str | None = None
    ) -> None:
        self.reader.report(code, primary, self.under + option.key, detail, hint)

    def report_use(self, code: Code, primary: str, detail: str | None = None, hint: str | None = None) -> None:
        """A problem with the choice of the format itself."""
        place = self.reader.value_place(self.named_by.key)
        self.reader.problems.append(Diagnostic(code, primary, place, detail, hint))

    def report_column(self, identifier: str, column: CarriedColumn, why: str, hint: str | None = None) -> None:
        primary = f"format '{identifier}' cannot carry column \"{column.name}\" of type {column.type}"
        self.reader.problems.append(Diagnostic(Code.UNSUPPORTED_TYPE, primary, column.span, f"{why}.", hint))


@dataclass(frozen=True, slots=True)
class FormatDeclaration:
    identifier: str
    doc: str
    bind: Callable[[dict[str, Any]], Format | None]
    """None if the options, whose problems have been reported, are not valid."""
    options: tuple[ConfigOption[Any], ...] = ()
    changelog: ChangelogMode = INSERT_ONLY
    """Both for reading and for writing."""
    refuses: Callable[[DataType], str | None] = lambda _: None
    """Why a column of this type is not supported, or None."""
    rules: tuple[Callable[[DeclaredUse], None], ...] = ()
    """Checks across options and columns, in the order in which they are reported."""
    metadata: tuple[MetadataKey, ...] = ()
    without_effect: tuple[tuple[str, str], ...] = ()
    """Keys that are accepted and have no effect here, each with the reason."""
    fallback_keys: tuple[tuple[str, str], ...] = ()
    """Older spellings of option keys: (older, current)."""
