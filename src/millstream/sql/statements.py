"""The statements of a script."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

    from millstream.source import Span
    from millstream.sql.script import Script
    from millstream.sql.types import DataType


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier as written, without backticks."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class ObjectName:
    """`table`, `database.table` or `catalog.database.table`."""

    parts: tuple[str, ...]
    span: Span

    @property
    def text(self) -> str:
        """The last part: the name of the object inside its database."""
        return self.parts[-1]


@dataclass(frozen=True, slots=True)
class OptionEntry:
    """`'key' = 'value'` of a WITH clause, a SET clause or a hint."""

    key: str
    value: str
    key_span: Span
    value_span: Span


@dataclass(frozen=True, slots=True)
class Expression:
    """A sqlglot tree whose positions `script` maps back to the user's text."""

    tree: exp.Expr
    script: Script
    span: Span

    @property
    def text(self) -> str:
        """As written, with its parameters replaced."""
        return self.script.text_of(self.span)

    @property
    def column_names(self) -> frozenset[str]:
        """The columns that it names."""
        from sqlglot import exp  # Spark's workers load statements but need no parser

        return frozenset(column.name for column in self.tree.find_all(exp.Column))


@dataclass(frozen=True, slots=True)
class QueryHint:
    """`STATE_TTL('o' = '1d')` or `BROADCAST(c)`."""

    name: str
    """In upper case."""
    span: Span
    options: tuple[OptionEntry, ...] = ()
    tables: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """SELECT, VALUES, a set operation or WITH … SELECT, as parsed by sqlglot."""

    tree: exp.Query
    script: Script
    span: Span
    hints: tuple[tuple[int, tuple[OptionEntry, ...]], ...] = ()
    """`/*+ OPTIONS(…) */` after a table: the offset at which the table's own name starts in `script.text`."""
    query_hints: tuple[tuple[int, tuple[QueryHint, ...]], ...] = ()
    """`/*+ STATE_TTL(…) */` after SELECT: the offset at which that SELECT starts."""

    @property
    def text(self) -> str:
        """As written, with its parameters replaced, including hints and comments."""
        return self.script.text_of(self.span)


@dataclass(frozen=True, slots=True)
class PhysicalColumn:
    """`name TYPE [NOT NULL] [COMMENT '…']`: part of what is read from and written to the messages."""

    name: str
    type: DataType
    span: Span
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """`name TYPE METADATA [FROM 'key'] [VIRTUAL]`."""

    name: str
    type: DataType
    span: Span
    key: str
    """The key after FROM, or the column's name."""
    is_virtual: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """`name AS expression`."""

    name: str
    expression: Expression
    span: Span
    comment: str | None = None


Column = PhysicalColumn | MetadataColumn | ComputedColumn


@dataclass(frozen=True, slots=True)
class WatermarkDeclaration:
    """`WATERMARK FOR column AS expression`."""

    column: str
    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class PrimaryKeyDeclaration:
    """`[CONSTRAINT name] PRIMARY KEY (a, b) NOT ENFORCED`; the order is the order of the message key."""

    columns: tuple[str, ...]
    span: Span
    name: str | None = None


class LikeFeature(StrEnum):
    ALL = "ALL"
    CONSTRAINTS = "CONSTRAINTS"
    DISTRIBUTION = "DISTRIBUTION"
    PARTITIONS = "PARTITIONS"
    GENERATED = "GENERATED"
    METADATA = "METADATA"
    OPTIONS = "OPTIONS"
    WATERMARKS = "WATERMARKS"


class LikeStrategy(StrEnum):
    INCLUDING = "INCLUDING"
    EXCLUDING = "EXCLUDING"
    OVERWRITING = "OVERWRITING"


@dataclass(frozen=True, slots=True)
class LikeOption:
    """`INCLUDING OPTIONS` and the like."""

    strategy: LikeStrategy
    feature: LikeFeature
    span: Span


@dataclass(frozen=True, slots=True)
class LikeClause:
    table: ObjectName
    options: tuple[LikeOption, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTable:
    name: ObjectName
    columns: tuple[Column, ...]
    options: tuple[OptionEntry, ...]
    span: Span
    """From CREATE to the end of the table's name: what an error about the whole table points at."""
    primary_key: PrimaryKeyDeclaration | None = None
    watermark: WatermarkDeclaration | None = None
    comment: str | None = None
    partitioned_by: tuple[Name, ...] = ()
    like: LikeClause | None = None
    if_not_exists: bool = False
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class CreateTableAs:
    """`CREATE TABLE … AS query`: a table with the columns of a query, and an INSERT of its rows."""

    table: CreateTable
    """As far as it is declared."""
    query: Query
    order: tuple[Name, ...] = ()
    """`CREATE TABLE t (b, a) … AS SELECT a, b`: the order of the query's columns in the table."""

    @property
    def name(self) -> ObjectName:
        return self.table.name

    @property
    def span(self) -> Span:
        return self.table.span


@dataclass(frozen=True, slots=True)
class CreateView:
    name: ObjectName
    columns: tuple[Name, ...]
    query: Query
    span: Span
    comment: str | None = None
    if_not_exists: bool = False
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """`CREATE FUNCTION f AS 'module:function' LANGUAGE PYTHON`."""

    name: ObjectName
    implementation: Name
    language: str
    span: Span
    if_not_exists: bool = False
    is_temporary: bool = False
    is_system: bool = False


class ObjectKind(StrEnum):
    TABLE = "TABLE"
    VIEW = "VIEW"
    FUNCTION = "FUNCTION"


@dataclass(frozen=True, slots=True)
class Drop:
    kind: ObjectKind
    name: ObjectName
    span: Span
    if_exists: bool = False
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class AlterTableSet:
    """`ALTER TABLE t SET ('key' = 'value')`."""

    name: ObjectName
    options: tuple[OptionEntry, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class AlterTableReset:
    """`ALTER TABLE t RESET ('key')`."""

    name: ObjectName
    keys: tuple[Name, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class AlterTableRename:
    name: ObjectName
    new_name: ObjectName
    span: Span


@dataclass(frozen=True, slots=True)
class InsertInto:
    target: ObjectName
    query: Query
    span: Span
    """INSERT INTO and the target's name."""
    columns: tuple[Name, ...] = ()
    hints: tuple[OptionEntry, ...] = ()
    """`/*+ OPTIONS(…) */` after the target."""


@dataclass(frozen=True, slots=True)
class StatementSet:
    """`EXECUTE STATEMENT SET BEGIN insert; … END`: one job."""

    inserts: tuple[InsertInto, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Select:
    """A query at the top of a script: its rows are printed."""

    query: Query
    span: Span


@dataclass(frozen=True, slots=True)
class SetOption:
    key: str
    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class ResetOption:
    """`RESET` undoes every SET, `RESET 'key'` one of them."""

    key: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class CreateCatalog:
    """`CREATE CATALOG c WITH ('type' = 'generic_in_memory')`."""

    name: Name
    options: tuple[OptionEntry, ...]
    span: Span
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropCatalog:
    name: Name
    span: Span
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    name: ObjectName
    options: tuple[OptionEntry, ...]
    span: Span
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropDatabase:
    name: ObjectName
    span: Span
    if_exists: bool = False
    cascades: bool = False
    """CASCADE: its tables go with it."""


@dataclass(frozen=True, slots=True)
class Use:
    """`USE CATALOG c`, `USE db`, `USE c.db`: what a name without them means from here on."""

    name: ObjectName
    is_catalog: bool
    span: Span


class ExplainDetail(StrEnum):
    ESTIMATED_COST = "ESTIMATED_COST"
    CHANGELOG_MODE = "CHANGELOG_MODE"
    JSON_EXECUTION_PLAN = "JSON_EXECUTION_PLAN"
    PLAN_ADVICE = "PLAN_ADVICE"


@dataclass(frozen=True, slots=True)
class Explain:
    statement: InsertInto | StatementSet | Select
    span: Span
    details: tuple[ExplainDetail, ...] = ()


@dataclass(frozen=True, slots=True)
class Describe:
    name: ObjectName
    span: Span


class ShowKind(StrEnum):
    CATALOGS = "CATALOGS"
    DATABASES = "DATABASES"
    CURRENT_CATALOG = "CURRENT CATALOG"
    CURRENT_DATABASE = "CURRENT DATABASE"
    TABLES = "TABLES"
    VIEWS = "VIEWS"
    FUNCTIONS = "FUNCTIONS"
    JOBS = "JOBS"
    SETTINGS = "SETTINGS"
    """`SET` without a key."""
    CREATE_TABLE = "CREATE TABLE"
    CREATE_VIEW = "CREATE VIEW"


@dataclass(frozen=True, slots=True)
class Show:
    kind: ShowKind
    span: Span
    name: ObjectName | None = None
    """Of SHOW CREATE TABLE and SHOW CREATE VIEW."""
    like: str | None = None
    is_negated: bool = False
    within: ObjectName | None = None
    """The database or catalog after FROM."""


Statement = (
    CreateTable
    | CreateTableAs
    | CreateView
    | CreateFunction
    | Drop
    | AlterTableSet
    | AlterTableReset
    | AlterTableRename
    | InsertInto
    | StatementSet
    | Select
    | SetOption
    | ResetOption
    | CreateCatalog
    | DropCatalog
    | CreateDatabase
    | DropDatabase
    | Use
    | Explain
    | Describe
    | Show
)
