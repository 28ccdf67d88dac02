"""The reference of connectors and formats with their options, derived from the declarations that check them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from millstream.changelog import INSERT_ONLY, letters
from millstream.connectors.local.file_formats import FILE_FORMATS
from millstream.connectors.registry import CONNECTOR, CONNECTORS
from millstream.formats.registry import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.catalog.options import ConfigOption
    from millstream.changelog import ChangelogMode
    from millstream.connectors.declaration import ConnectorDeclaration
    from millstream.formats.declaration import FormatDeclaration

_UNITS: Final = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min"))


@dataclass(frozen=True, slots=True)
class OptionEntry:
    key: str
    type: str
    needed: str
    default: str
    role: str
    doc: str
    values: tuple[tuple[str, str], ...] = ()
    legacy: tuple[str, ...] = ()
    is_secret: bool = False
    without_effect: str | None = None


@dataclass(frozen=True, slots=True)
class MetadataEntry:
    key: str
    type: str
    access: str
    doc: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A connector or a format."""

    kind: str
    identifier: str
    doc: str
    changes: str
    options: tuple[OptionEntry, ...]
    metadata: tuple[MetadataEntry, ...] = ()
    legacy_options: tuple[OptionEntry, ...] = ()
    """Options that only a table in the `connector.type` dialect can have."""

    @property
    def summary(self) -> str:
        """What it is, and which changes it produces and accepts, as sentences."""
        return f"{self.doc} {self.changes[:1].upper()}{self.changes[1:]}." if self.changes else self.doc


def connectors() -> tuple[Entry, ...]:
    return tuple(_connector(module.DECLARATION) for module in CONNECTORS.values())


def formats() -> tuple[Entry, ...]:
    return tuple(_format(declaration) for declaration in FORMATS.values())


def file_formats() -> tuple[Entry, ...]:
    """Of connector `filesystem`."""
    return tuple(
        Entry(
            "file format",
            declaration.identifier,
            f"The {declaration.identifier} files of connector 'filesystem'.",
            _changes(INSERT_ONLY),
            _options(declaration.options, f"{declaration.identifier}."),
        )
        for declaration in FILE_FORMATS.values()
    )


def _connector(declaration: ConnectorDeclaration) -> Entry:
    changes = [f"gives {declaration.gives}"] if declaration.gives else []
    changes += [f"takes {declaration.takes}"] if declaration.takes else []
    return Entry(
        "connector",
        declaration.identifier,
        declaration.doc,
        ", ".join(changes),
        _options((CONNECTOR, *declaration.options), without_effect=declaration.without_effect),
        tuple(
            MetadataEntry(part.key, str(part.type), "read and write" if part.is_writable else "read", part.doc)
            for part in declaration.metadata
        ),
        _options(declaration.legacy_options),
    )


def _format(declaration: FormatDeclaration) -> Entry:
    return Entry(
        "format",
        declaration.identifier,
        declaration.doc,
        _changes(declaration.changelog),
        _options(declaration.options, f"{declaration.identifier}.")
        + tuple(
            OptionEntry(f"{declaration.identifier}.{key}", "STRING", "", "", "", "", without_effect=reason)
            for key, reason in declaration.without_effect
        ),
        tuple(MetadataEntry(f"value.{key.key}", str(key.type), "read", key.doc) for key in declaration.metadata),
    )


def _changes(mode: ChangelogMode) -> str:
    kinds = letters(mode).replace(",", ", ")
    return "gives and takes inserts" if mode == INSERT_ONLY else f"gives and takes changes ({kinds})"


def _options(
    options: Iterable[ConfigOption[Any]], prefix: str = "", without_effect: Iterable[tuple[str, str]] = ()
) -> tuple[OptionEntry, ...]:
    reasons = dict(without_effect)
    return tuple(
        OptionEntry(
            key=prefix + option.key,
            type=option.type.name,
            needed=option.needed,
            default=_format_default(option.default),
            role=str(option.role),
            doc=option.doc,
            values=option.type.values,
            legacy=option.legacy,
            is_secret=option.is_secret,
            without_effect=reasons.get(option.key),
        )
        for option in options
    )


def _format_default(default: Any) -> str:
    """A default as a user would write it."""
    match default:
        case None | ():
            return ""
        case bool():
            return str(default).lower()
        case StrEnum():
            return default.value
        case timedelta():
            unit = next(
                ((default // length, name) for length, name in _UNITS if default and not default % length), None
            )
            return f"{unit[0]} {unit[1]}" if unit else f"{default.total_seconds():g} s"
        case tuple():
            return ";".join(str(item) for item in default)
        case _:
            return str(default)
