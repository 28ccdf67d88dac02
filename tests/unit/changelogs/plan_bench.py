"""A plan without Spark: kernels on in-memory state, expressions by DuckDB, batch after batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from millstream.aggregates.registry import aggregate_function
from millstream.changelog import INSERT_ONLY, KIND, RowKind
from millstream.formats.arrow_types import arrow_schema
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.materialise import MaterialiseOperator
from millstream.kernels.normalise import NormaliseOperator
from millstream.plan.changelog import provided
from millstream.plan.nodes import (
    Aggregate,
    Collect,
    Expand,
    Filter,
    Materialise,
    Node,
    Normalise,
    Project,
    Scan,
    Write,
)
from tests.unit.kernels.bench import Bench

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import duckdb
    from sqlglot import exp

    from millstream.kernels.state_table import Lifetime
    from millstream.plan.nodes import AggregateCall, OutputColumn

Record = dict[str, Any]
Changes = list[tuple[RowKind, Record]]


class Step(Protocol):
    def __call__(self, batch: Changes) -> Changes: ...


class PlanBench:
    """Runs what a plan says; each kernel keeps its state from batch to batch."""

    def __init__(self, root: Node, folder: Path, database: duckdb.DuckDBPyConnection, *, expires: bool = False) -> None:
        self._folder = folder
        self._expires = expires
        self._benches: list[Bench] = []
        self._database = database
        self._step = self._built(root)

    def step(self, batch: Changes, lifetime: Lifetime | None = None) -> Changes:
        for bench in self._benches:
            bench.lifetime = lifetime
        return self._step(batch) if batch else []

    @property
    def ignored(self) -> int:
        return sum(bench.ignored for bench in self._benches)

    def _built(self, node: Node) -> Step:
        match node:
            case Scan():
                names = [column.name for column in node.columns]
                return lambda batch: [(kind, {name: row[name] for name in names}) for kind, row in batch]
            case Filter():
                return self._filtered(node)
            case Project():
                return self._projected(node)
            case Expand():
                return self._expanded(node)
            case Aggregate():
                return self._aggregated(node)
            case Normalise():
                schema = _schema(node.columns)
                operator = NormaliseOperator(node.keys, schema, node.emits_before, expires=self._expires)
                return self._keyed(node, operator)
            case Materialise():
                return self._keyed(node, MaterialiseOperator(node.keys, _schema(node.columns), node.upsert_key))
            case Write() | Collect():
                return self._built(node.input)
            case _:
                raise AssertionError(f"{type(node).__name__} reads no changelog")

    def _filtered(self, node: Filter) -> Step:
        below = self._built(node.input)
        return lambda batch: [
            change
            for change, [keeps] in self._computed(node.input.columns, [_sql(node.condition)], below(batch))
            if keeps
        ]

    def _projected(self, node: Project) -> Step:
        below = self._built(node.input)
        items = [f"CAST({_sql(item.expression)} AS {_duckdb_type(item)})" for item in node.items]
        names = [item.name for item in node.items]
        return lambda batch: [
            (kind, dict(zip(names, values, strict=True)))
            for (kind, _), values in self._computed(node.input.columns, items, below(batch))
        ]

    def _computed(
        self, columns: Sequence[OutputColumn], expressions: Iterable[str], batch: Changes
    ) -> list[tuple[tuple[RowKind, Record], tuple[Any, ...]]]:
        """Each change with the values of expressions over its row."""
        schema = _schema(columns).append(pa.field("__place", pa.int64()))
        placed = [{**row, "__place": place} for place, (_, row) in enumerate(batch)]
        self._database.register("rows", pa.Table.from_pylist(placed, schema=schema))
        wanted = ", ".join(["__place", *expressions])
        found = self._database.execute(f"SELECT {wanted} FROM rows ORDER BY __place").fetchall()
        return [(change, values[1:]) for change, values in zip(batch, found, strict=True)]

    def _expanded(self, node: Expand) -> Step:
        below = self._built(node.input)
        return lambda batch: [
            (kind, {**row, **{key: None for key in node.keys if key not in kept}, node.number: number})
            for kind, row in below(batch)
            for number, kept in enumerate(node.sets)
        ]

    def _aggregate(self, node: Aggregate) -> AggregateOperator:
        types = {field.name: field.type for field in _schema(node.input.columns)}
        calls, columns = [], {key: types[key] for key in node.keys}
        for call in node.calls:
            if call.argument is not None:
                type_ = types[call.argument]
                widens = aggregate_function(call.function).widens
                columns[_argument(call)] = type_ if widens is None else widens(type_)
            if call.filter is not None:
                columns[call.filter] = types[call.filter]
            argument = None if call.argument is None else _argument(call)
            calls.append(Call(call.name, call.function, argument, call.distinct, call.filter, call.parameters))
        return AggregateOperator(
            node.keys,
            tuple(calls),
            pa.schema([pa.field(name, type_) for name, type_ in columns.items()]),
            node.emits_before,
            insert_only=provided(node.input) == INSERT_ONLY,
            repeats=node.repeats,
        )

    def _aggregated(self, node: Aggregate) -> Step:
        below, kernel = self._built(node.input), self._kernel(self._aggregate(node))
        arguments = {_argument(call): call.argument for call in node.calls if call.argument is not None}
        return lambda batch: kernel(
            [(kind, row | {name: row[of] for name, of in arguments.items()}) for kind, row in below(batch)]
        )

    def _keyed(self, node: Normalise | Materialise, operator: NormaliseOperator | MaterialiseOperator) -> Step:
        below, kernel = self._built(node.input), self._kernel(operator)
        return lambda batch: kernel(below(batch))

    def _kernel(self, operator: AggregateOperator | NormaliseOperator | MaterialiseOperator) -> Step:
        bench = Bench(self._folder / str(len(self._benches)), operator, operator.schema)
        self._benches.append(bench)

        def step(batch: Changes) -> Changes:
            changes = [(kind, tuple(row[name] for name in operator.schema.names)) for kind, row in batch]
            found = bench.step(changes) if changes else []
            return [(RowKind(row.pop(KIND)), row) for row in found]

        return step


def _argument(call: AggregateCall) -> str:
    return f"argument of {call.name}"


def _schema(columns: Sequence[OutputColumn]) -> pa.Schema:
    return arrow_schema((column.name, column.type) for column in columns if column.type is not None)


def _sql(expression: exp.Expr) -> str:
    return expression.sql(dialect="duckdb", identify=True)


def _duckdb_type(column: Any) -> str:
    return str(column.type).removesuffix(" NOT NULL")
