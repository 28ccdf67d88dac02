"""Metadata columns: which keys a table has, which can be written, and which column types they can be cast to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from millstream.catalog.suggestions import nearest_key
from millstream.errors import Code, Diagnostic
from millstream.sql.casts import can_cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from millstream.catalog.table import CatalogTable
    from millstream.sql.statements import MetadataColumn
    from millstream.sql.types import DataType


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part of a message that `METADATA FROM 'key'` reads, and writes if it is writable."""

    key: str
    type: DataType
    """As it is read; when it is written, it may be NULL."""
    doc: str
    is_writable: bool = False


@dataclass(frozen=True, slots=True)
class MetadataUse:
    """A metadata column and its source: the value of `key`, of type `type`, is cast to the column's type.

    For a sink, the cast goes in the other direction.
    """

    column: MetadataColumn
    key: str
    type: DataType


def read_metadata(table: CatalogTable, parts: Mapping[str, MessagePart]) -> tuple[MetadataUse, ...]:
    """Every metadata column of a source; those that cannot be read are reported by `unreadable`."""
    return _uses(table.metadata_columns, parts)


def written_metadata(table: CatalogTable, parts: Mapping[str, MessagePart]) -> tuple[MetadataUse, ...]:
    """The metadata columns to which an INSERT assigns values."""
    writable = {key: part for key, part in parts.items() if part.is_writable}
    written = _uses((column for column in table.metadata_columns if not column.is_virtual), writable)
    return tuple(replace(use, type=use.type.or_null()) for use in written)


def _uses(columns: Iterable[MetadataColumn], parts: Mapping[str, MessagePart]) -> tuple[MetadataUse, ...]:
    return tuple(MetadataUse(column, column.key, parts[column.key].type) for column in columns if column.key in parts)


def unreadable(table: CatalogTable, parts: Mapping[str, MessagePart]) -> Iterator[Diagnostic]:
    for column in table.metadata_columns:
        if column.key not in parts:
            yield _undefined_key(column, table, parts, "be read")
        elif not can_cast(found := parts[column.key].type, column.type, as_metadata=True):
            yield _wrong_type(column, f"Metadata '{column.key}' is {found}, which has no cast to {column.type}.")
        elif found.nullable and not column.type.nullable:
            yield _wrong_type(column, f"Metadata '{column.key}' can be NULL.")


def unwritable(table: CatalogTable, parts: Mapping[str, MessagePart]) -> Iterator[Diagnostic]:
    writable = {key: part for key, part in parts.items() if part.is_writable}
    for column in table.metadata_columns:
        if column.is_virtual:
            continue
        if column.key in parts and column.key not in writable:
            yield Diagnostic(
                Code.INVALID_METADATA,
                f"metadata '{column.key}' of column \"{column.name}\" cannot be written",
                column.span,
                detail=f"Metadata that can be written: {', '.join(writable) or 'none'}.",
                hint=f'Declare "{column.name}" as METADATA VIRTUAL: then it is read only.',
            )
        elif column.key not in writable:
            yield _undefined_key(column, table, writable, "be written")
        elif not can_cast(column.type, wanted := writable[column.key].type, as_metadata=True):
            yield _wrong_type(column, f"Metadata '{column.key}' takes {wanted}, to which {column.type} has no cast.")


def _undefined_key(
    column: MetadataColumn, table: CatalogTable, parts: Mapping[str, MessagePart], use: str
) -> Diagnostic:
    near = nearest_key(column.key, parts)
    return Diagnostic(
        Code.INVALID_METADATA,
        f'table "{table.name}" has no metadata \'{column.key}\' for column "{column.name}"',
        column.span,
        detail=f"Metadata that can {use}: {', '.join(parts) or 'none'}.",
        hint=f"Did you mean METADATA FROM '{near}'?" if near else None,
    )


def _wrong_type(column: MetadataColumn, why: str) -> Diagnostic:
    return Diagnostic(
        Code.INVALID_METADATA,
        f'metadata column "{column.name}" cannot be declared as {column.type}',
        column.span,
        detail=why,
    )
