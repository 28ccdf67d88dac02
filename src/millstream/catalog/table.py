"""A table: its columns, key, watermark and options, each with its position in the script."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from millstream.changelog import KIND
from millstream.errors import Code, Diagnostic
from millstream.spelling import nearest
from millstream.sql.statements import (
    ComputedColumn,
    CreateTable,
    CreateView,
    MetadataColumn,
    Name,
    ObjectName,
    PhysicalColumn,
    PrimaryKeyDeclaration,
)
from millstream.sql.types import TIMESTAMPS, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from millstream.source import Span
    from millstream.sql.statements import Column, OptionEntry, Query, WatermarkDeclaration
    from millstream.sql.types import DataType

MOST_OF_A_ROWTIME: Final = 3


@dataclass(frozen=True, slots=True)
class CatalogTable:
    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    """In the order of the PRIMARY KEY clause, which is the order of the message key."""
    watermark: WatermarkDeclaration | None
    options: tuple[OptionEntry, ...]
    span: Span
    comment: str | None = None
    partitioned_by: tuple[str, ...] = ()
    is_temporary: bool = False

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def physical_columns(self) -> tuple[PhysicalColumn, ...]:
        """The columns that are in the messages."""
        return tuple(column for column in self.columns if isinstance(column, PhysicalColumn))

    @property
    def metadata_columns(self) -> tuple[MetadataColumn, ...]:
        return tuple(column for column in self.columns if isinstance(column, MetadataColumn))

    @property
    def computed_columns(self) -> tuple[ComputedColumn, ...]:
        return tuple(column for column in self.columns if isinstance(column, ComputedColumn))

    @property
    def written_columns(self) -> tuple[PhysicalColumn | MetadataColumn, ...]:
        """The columns to which an INSERT assigns values, in declared order."""
        return tuple(
            column
            for column in self.columns
            if isinstance(column, PhysicalColumn) or (isinstance(column, MetadataColumn) and not column.is_virtual)
        )

    def statement(self) -> CreateTable:
        """The statement that creates this table again."""
        return CreateTable(
            name=ObjectName((self.name,), self.span),
            columns=self.columns,
            options=self.options,
            span=self.span,
            primary_key=PrimaryKeyDeclaration(self.primary_key, self.span) if self.primary_key else None,
            watermark=self.watermark,
            comment=self.comment,
            partitioned_by=tuple(Name(name, self.span) for name in self.partitioned_by),
            is_temporary=self.is_temporary,
        )

    def with_options(self, options: tuple[OptionEntry, ...]) -> CatalogTable:
        """The same table with some options replaced."""
        changed = {option.key for option in options}
        kept = tuple(option for option in self.options if option.key not in changed)
        return replace(self, options=(*kept, *options))


@dataclass(frozen=True, slots=True)
class CatalogView:
    """A named query, which replaces its name wherever it is read."""

    name: str
    columns: tuple[str, ...]
    query: Query
    span: Span
    comment: str | None = None
    is_temporary: bool = False

    def statement(self) -> CreateView:
        """The statement that creates this view again."""
        return CreateView(
            name=ObjectName((self.name,), self.span),
            columns=tuple(Name(name, self.span) for name in self.columns),
            query=self.query,
            span=self.span,
            comment=self.comment,
            is_temporary=self.is_temporary,
        )


def contradictions(statement: CreateTable) -> list[Diagnostic]:
    """All contradictions within a CREATE TABLE."""
    return [
        *_column_problems(statement),
        *_key_problems(statement),
        *_watermark_problems(statement),
        *_partition_problems(statement),
    ]


def table_of(statement: CreateTable) -> CatalogTable:
    """The table that a CREATE TABLE declares, without its contradictions."""
    columns = {column.name: column for column in reversed(statement.columns) if column.name != KIND}
    written = statement.primary_key.columns if statement.primary_key else ()
    key = tuple(dict.fromkeys(name for name in written if name in columns))
    return CatalogTable(
        name=statement.name.text,
        columns=tuple(
            _as_key_column(column) if column.name in key else column for column in reversed(columns.values())
        ),
        primary_key=key,
        watermark=statement.watermark if not any(_watermark_problems(statement)) else None,
        options=statement.options,
        span=statement.span,
        comment=statement.comment,
        partitioned_by=tuple(name.text for name in statement.partitioned_by if name.text in columns),
        is_temporary=statement.is_temporary,
    )


def _as_key_column(column: Column) -> Column:
    """A column of the primary key is NOT NULL, even if that is not written."""
    return replace(column, type=column.type.not_null()) if isinstance(column, PhysicalColumn) else column


def _column_problems(statement: CreateTable) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for column in statement.columns:
        if column.name == KIND:
            yield Diagnostic(
                Code.DUPLICATE_COLUMN,
                f'column name "{column.name}" is reserved for the kind of a row',
                column.span,
                hint="Choose another name.",
            )
        if column.name in seen:
            yield Diagnostic(
                Code.DUPLICATE_COLUMN,
                f'column "{column.name}" is declared twice',
                column.span,
                hint="Rename or remove one of the two.",
            )
        seen.add(column.name)


def _key_problems(statement: CreateTable) -> Iterator[Diagnostic]:
    if statement.primary_key is None:
        return
    columns = {column.name: column for column in statement.columns}
    for name in dict.fromkeys(statement.primary_key.columns):
        column = columns.get(name)
        if column is None:
            yield Diagnostic(
                Code.INVALID_PRIMARY_KEY,
                f'primary key column "{name}" is not a column of table "{statement.name.text}"',
                statement.primary_key.span,
                detail=f"It has: {', '.join(columns)}.",
                hint=_did_you_mean(name, columns) or "Name columns of the table.",
            )
        elif not isinstance(column, PhysicalColumn):
            yield Diagnostic(
                Code.INVALID_PRIMARY_KEY,
                f'primary key column "{name}" is a {"computed" if isinstance(column, ComputedColumn) else "metadata"} '
                "column",
                statement.primary_key.span,
                hint="Name columns that the messages hold.",
            )
        elif _has_map(column.type):
            yield Diagnostic(
                Code.INVALID_PRIMARY_KEY,
                f'primary key column "{name}" is of type {column.type}, and a map cannot be part of a key',
                statement.primary_key.span,
                detail="The entries of a map have no order, so one key could be written as several messages.",
                hint="Use individual values of it, or cast it to STRING.",
            )
    if len(set(statement.primary_key.columns)) < len(statement.primary_key.columns):
        yield Diagnostic(
            Code.INVALID_PRIMARY_KEY,
            "a column appears twice in the primary key",
            statement.primary_key.span,
            hint="Name each column once.",
        )


def _has_map(type_: DataType) -> bool:
    inside = (type_.element, *(field.type for field in type_.fields))
    is_map = type_.root in (TypeRoot.MAP, TypeRoot.MULTISET)
    return is_map or any(_has_map(part) for part in inside if part is not None)


def _partition_problems(statement: CreateTable) -> Iterator[Diagnostic]:
    names = [column.name for column in statement.columns]
    for name in statement.partitioned_by:
        if name.text not in names:
            yield Diagnostic(
                Code.UNDEFINED_COLUMN,
                f'PARTITIONED BY names "{name.text}", which is not a column of table "{statement.name.text}"',
                name.span,
                detail=f"It has: {', '.join(names)}.",
                hint=_did_you_mean(name.text, names),
            )


def _did_you_mean(name: str, names: Iterable[str]) -> str | None:
    near = nearest(name, names)
    return f'Did you mean "{near}"?' if near else None


def _watermark_problems(statement: CreateTable) -> Iterator[Diagnostic]:
    if statement.watermark is None:
        return
    watermark = statement.watermark
    names = {column.name for column in statement.columns}
    used_beside_it = watermark.expression.column_names - {watermark.column}
    for used in sorted(used_beside_it - names):
        yield Diagnostic(
            Code.INVALID_WATERMARK,
            f'the watermark names "{used}", which is not a column of table "{statement.name.text}"',
            watermark.span,
        )
    column = next((c for c in statement.columns if c.name == watermark.column), None)
    if column is None:
        yield Diagnostic(
            Code.INVALID_WATERMARK,
            f'watermark column "{watermark.column}" is not a column of table "{statement.name.text}"',
            watermark.span,
        )
    elif not isinstance(column, ComputedColumn) and column.type.root not in TIMESTAMPS:
        yield Diagnostic(
            Code.INVALID_WATERMARK,
            f'watermark column "{watermark.column}" is of type {column.type}',
            watermark.span,
            hint="A watermark needs a TIMESTAMP or TIMESTAMP_LTZ column.",
        )
    elif not isinstance(column, ComputedColumn) and (column.type.precision or 0) > MOST_OF_A_ROWTIME:
        yield finer_than_milliseconds(watermark, column.type)


def finer_than_milliseconds(watermark: WatermarkDeclaration, type_: DataType) -> Diagnostic:
    return Diagnostic(
        Code.INVALID_WATERMARK,
        f'watermark column "{watermark.column}" is of type {type_}, finer than milliseconds',
        watermark.span,
        hint=f"Declare it {replace(type_, precision=MOST_OF_A_ROWTIME)}, or CAST to that.",
    )
