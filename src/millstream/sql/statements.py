"""What a script says, statement by statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

    from millstream.source import Span
    from millstream.sql.script import Script
    from millstream.sql.types import DataType


@dataclass(frozen=True, slots=True)
class ColumnDeclaration:
    """`name TYPE [NOT NULL] [COMMENT '…']`."""

    name: str
    type: DataType
    span: Span
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class WatermarkDeclaration:
    """`WATERMARK FOR column AS expression`."""

    column: str
    expression: exp.Expr
    span: Span


@dataclass(frozen=True, slots=True)
class PrimaryKeyDeclaration:
    """`PRIMARY KEY (a, b) NOT ENFORCED`; the order is the order of the message key."""

    columns: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class OptionEntry:
    """`'key' = 'value'` of a WITH clause."""

    key: str
    value: str
    key_span: Span
    value_span: Span


@dataclass(frozen=True, slots=True)
class CreateTable:
    name: str
    columns: tuple[ColumnDeclaration, ...]
    options: tuple[OptionEntry, ...]
    span: Span
    """From CREATE to the end of the table's name: what an error about the whole table points at."""
    primary_key: PrimaryKeyDeclaration | None = None
    watermark: WatermarkDeclaration | None = None
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class InsertInto:
    target: str
    target_span: Span
    query: exp.Select
    script: Script
    """Maps the positions inside `query` back to the user's text."""
    span: Span
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetOption:
    key: str
    value: str
    span: Span


Statement = CreateTable | InsertInto | SetOption
