"""The steps of a plan, from the tables that are read to the table that is written.

Expressions inside a node are sqlglot trees whose columns are columns of the node's input.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from millstream.sql.types import INT

if TYPE_CHECKING:
    from sqlglot import exp

    from millstream.aggregates import AggregateFunction
    from millstream.connectors.tables import Sink, Source
    from millstream.source import Span
    from millstream.sql.types import DataType


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    type: DataType | None
    """None where only Spark can tell."""


@dataclass(frozen=True, slots=True)
class Scan:
    source: Source
    columns: tuple[OutputColumn, ...]
    """Those that are decoded: the ones the query needs."""
    span: Span
    shared_by: tuple[str, ...] = ()
    """The tables that the INSERTs write which read it together; empty where one reads it alone."""


@dataclass(frozen=True, slots=True)
class Values:
    """Rows written in the script. SELECT without FROM reads one row of no columns."""

    rows: tuple[tuple[exp.Expr, ...], ...]
    columns: tuple[OutputColumn, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Filter:
    input: Node
    condition: exp.Expr
    span: Span

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class ProjectItem:
    name: str
    expression: exp.Expr
    type: DataType | None


@dataclass(frozen=True, slots=True)
class Project:
    input: Node
    items: tuple[ProjectItem, ...]
    span: Span

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return tuple(OutputColumn(item.name, item.type) for item in self.items)


@dataclass(frozen=True, slots=True)
class Expand:
    """Every row once per grouping set, with NULL in the keys that the set leaves out and the set's number beside it."""

    input: Node
    keys: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    """The keys that each set keeps."""
    number: str
    """The column that holds the number of the set: it keeps the sets apart where their keys are alike."""
    span: Span

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        partial = {key for key in self.keys if any(key not in kept for kept in self.sets)}
        columns = (_nullable(column) if column.name in partial else column for column in self.input.columns)
        return (*columns, OutputColumn(self.number, INT.not_null()))


def _nullable(column: OutputColumn) -> OutputColumn:
    return column if column.type is None else replace(column, type=replace(column.type, nullable=True))


class Operator(StrEnum):
    """What runs a step that keeps state: Spark's own operator, or one of ours on the kernel host."""

    NATIVE = "native"
    KERNEL = "kernel"


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """`name` is the column that holds the result; `argument` a column of the input."""

    name: str
    function: AggregateFunction
    argument: str | None
    distinct: bool
    type: DataType | None
    parameters: tuple[str, ...] = ()
    """Constants after the argument: the separator of LISTAGG."""
    filter: str | None = None
    """A condition, as a column of the input, for the one aggregate that does not pass over NULL: ARRAY_AGG."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the input that it reads."""
        return tuple(name for name in (self.argument, self.filter) if name is not None)

    @property
    def separator(self) -> str:
        """What LISTAGG puts between two values."""
        return self.parameters[0] if self.parameters else ","

    def __str__(self) -> str:
        if self.argument is None:
            return f"COUNT(*) AS {self.name}"
        constants = "".join(f", '{constant}'" for constant in self.parameters)
        condition = f" FILTER (WHERE {self.filter})" if self.filter is not None else ""
        distinct = "DISTINCT " if self.distinct else ""
        return f"{self.function}({distinct}{self.argument}{constants}){condition} AS {self.name}"


@dataclass(frozen=True, slots=True)
class Aggregate:
    input: Node
    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    span: Span
    emits_before: bool = False
    """Whether an update is preceded by the old row, because somebody above needs it."""
    repeats: bool = False
    """Whether a result that did not change is given again: state has a lifetime, and that above lives on this."""
    operator: Operator = Operator.KERNEL

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        types = {column.name: column.type for column in self.input.columns}
        keys = tuple(OutputColumn(key, types[key]) for key in self.keys)
        return keys + tuple(OutputColumn(call.name, call.type) for call in self.calls)


@dataclass(frozen=True, slots=True)
class Normalise:
    """Upserts and tombstones become a changelog: what a row does depends on the row its key had."""

    input: Node
    keys: tuple[str, ...]
    span: Span
    emits_before: bool = False

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class Materialise:
    """Several rows of the query may claim one key of the sink: the latest is written, and the one before it again
    when the latest is taken back."""

    input: Node
    keys: tuple[str, ...]
    upsert_key: tuple[str, ...]
    """By which the query's rows replace each other; empty where they are taken back whole."""
    span: Span

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class Write:
    input: Node
    sink: Sink
    span: Span

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class Collect:
    """The end of a SELECT at the top of a script: its rows are shown."""

    input: Node
    span: Span

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.input.columns


Root = Write | Collect
Node = Scan | Values | Filter | Project | Expand | Aggregate | Normalise | Materialise | Root


def scans(node: Node) -> tuple[Scan, ...]:
    """Where a plan reads tables."""
    match node:
        case Scan():
            return (node,)
        case Values():
            return ()
        case _:
            return scans(node.input)


def is_bounded(node: Node) -> bool:
    """Whether the plan comes to an end by itself: when all it reads does."""
    return all(scan.source.is_bounded for scan in scans(node))


def made_up_rows(node: Node) -> int | None:
    """How many rows are read where they come from the script or a generator that ends; None elsewhere."""
    match node:
        case Values():
            return len(node.rows)
        case Scan():
            return node.source.generated_rows
        case _:
            return made_up_rows(node.input)
