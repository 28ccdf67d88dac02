"""Turns a change into rows, whatever its encoding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from millstream.changelog import RowKind
from millstream.formats.cdc_dialect import CdcDialect, Change

if TYPE_CHECKING:
    from collections.abc import Iterator

Row: TypeAlias = Mapping[str, object]


def change_of(word: object, dialect: CdcDialect) -> Change:
    if word is None:
        raise ValueError(f'The "{dialect.kind_field}" field is missing or null')
    change = dict(dialect.changes).get(str(word))
    if change is None:
        raise ValueError(f'Unknown "{dialect.kind_field}" value "{word}".')
    return change


def before_and_after(change: Change, before: object, after: object) -> Iterator[tuple[RowKind, Row]]:
    """For a message with whole rows."""
    if change is not Change.INSERT and before is None:
        raise ValueError(
            f'The "before" field of {change.name} message is null, if you are using Debezium Postgres Connector, '
            "please check the Postgres table has been set REPLICA IDENTITY to FULL level."
        )
    match change:
        case Change.INSERT:
            yield RowKind.INSERT, whole_row(after, "after")
        case Change.DELETE:
            yield RowKind.DELETE, whole_row(before, "before")
        case _:
            new = whole_row(after, "after")
            yield RowKind.UPDATE_BEFORE, whole_row(before, "before")
            yield RowKind.UPDATE_AFTER, new


def whole_row(value: object, field: str) -> Row:
    if not isinstance(value, dict):
        raise ValueError(f'The "{field}" field has no row where it needs one')  # noqa: TRY004
    return value
