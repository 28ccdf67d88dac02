"""A plan without Spark: kernels on in-memory state, expressions by DuckDB, batch after batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from millstream.aggregates.registry import aggregate_function
from millstream.changelog import KIND, RowKind
from millstream.formats.arrow_types import arrow_schema
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.join import JoinOperator, JoinSide
from millstream.kernels.materialise import MaterialiseOperator
from millstream.kernels.normalise import NormaliseOperator
from millstream.kernels.operator import LEFT, RIGHT
from millstream.kernels.over import OverOperator
from millstream.kernels.partners import MARK
from millstream.kernels.rank import Arrival, RankOperator, SortKey
from millstream.kernels.set_operation import SetOperator
from millstream.kernels.updated_over import UpdatedOverOperator
from millstream.plan.operators.aggregate import Aggregate
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.expand import Expand
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.join import Join
from millstream.plan.operators.materialise import Materialise
from millstream.plan.operators.normalise import Normalise
from millstream.plan.operators.over import Over
from millstream.plan.operators.project import Project
from millstream.plan.operators.rank import Rank, Ties
from millstream.plan.operators.roots import Collect, Write
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.set_operation import Except, SetOperation
from millstream.plan.operators.union import Union
from millstream.plan.operators.unnest import PartKind, Unnest
from millstream.plan.resolver.sql_text import sql_text
from millstream.spark.join import pair_condition
from millstream.spark.over import over_operator
from tests.unit.changelogs.plan_time import PlanTime
from tests.unit.kernels.bench import Bench

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb

    from millstream.plan.operators.aggregate import AggregateCall
    from millstream.plan.operators.node import Node, OutputColumn
    from millstream.plan.physical.nodes import PhysicalNode
    from millstream.plan.typed import Typed
    from millstream.state.state_table import TimeToLive

Record = dict[str, Any]
Changes = list[tuple[RowKind, Record]]


KeyedOperator = (
    AggregateOperator | NormaliseOperator | MaterialiseOperator | RankOperator | OverOperator | UpdatedOverOperator
)


class Step(Protocol):
    def __call__(self, batch: Changes) -> Changes: ...


class PlanBench:
    """Runs what a plan says; each kernel keeps its state from batch to batch.

    Each table with a watermark is one split. A kernel that needs time is stepped in every batch, rows or none.
    """

    def __init__(self, root: PhysicalNode, database: duckdb.DuckDBPyConnection, *, expires: bool = False) -> None:
        self._expires = expires
        self._benches: list[Bench] = []
        self._database = database
        self._time = PlanTime()
        self._step = self._build(root)

    def step(self, batch: Changes, ttl: TimeToLive | None = None, now: int = 0) -> Changes:
        """`now`: when the batch began."""
        self._time.now = now
        for bench in self._benches:
            bench.ttl = ttl
        return self._step(batch)

    def end(self, now: int = 0) -> Changes:
        """What comes of the end of all tables: the highest watermark."""
        self._time.has_ended = True
        return self.step([], None, now)

    @property
    def ignored(self) -> int:
        return sum(bench.ignored for bench in self._benches)

    @property
    def late(self) -> int:
        """How many rows were dropped for being late."""
        return sum(bench.late for bench in self._benches)

    def _build(self, node: PhysicalNode) -> Step:
        inputs = [self._build(below) for below in node.inputs]
        built = len(self._benches)
        step = self._build_over(node, *inputs)
        for bench in self._benches[built:]:
            self._time.follow(node, bench)
        return step

    def _build_over(self, node: PhysicalNode, *inputs: Step) -> Step:
        operator = node.operator
        match operator:
            case Scan():
                names = [column.name for column in operator.columns]
                return lambda batch: [(kind, {name: row[name] for name in names}) for kind, row in batch]
            case Aggregate():
                return self._aggregate_rows(operator, node.inputs[0], *inputs)
            case Normalise():
                schema = _schema(operator.columns)
                normalise = NormaliseOperator(operator.keys, schema, operator.emits_before, expires=self._expires)
                return self._keep_by_key(normalise, *inputs)
            case Materialise():
                schema = _schema(operator.columns)
                return self._keep_by_key(MaterialiseOperator(operator.keys, schema, operator.replaced_by), *inputs)
            case Union():
                names = [column.name for column in operator.columns]
                return lambda batch: [
                    (kind, {name: row[name] for name in names}) for below in inputs for kind, row in below(batch)
                ]
            case Join():
                return self._join(operator, *inputs)
            case SetOperation():
                return self._set_operation(operator, *inputs)
            case Rank():
                return self._rank(operator, *inputs)
            case Over():
                return self._over(operator, *inputs)
            case AssignWatermark():
                return self._assign_watermark(node, operator, *inputs)
            case Write() | Collect():
                return inputs[0]
            case _:
                [below] = inputs
                return self._build_stateless(operator, below)

    def _assign_watermark(self, node: PhysicalNode, operator: AssignWatermark, below: Step) -> Step:
        columns = operator.columns
        milliseconds = f"epoch_ms(CAST({_sql(operator.expression)} AS TIMESTAMP))"

        def step(batch: Changes) -> Changes:
            changes = below(batch)
            computed = self._compute(columns, [milliseconds], changes)
            self._time.reach(node, max((time for _, [time] in computed if time is not None), default=None))
            return changes

        return step

    def _build_stateless(self, operator: Node, below: Step) -> Step:
        match operator:
            case Filter():
                return self._filter(operator, below)
            case Project():
                return self._project(operator, below)
            case Expand():
                return self._expand(operator, below)
            case Unnest():
                return self._unnest(operator, below)
            case _:
                raise AssertionError(f"{type(operator).__name__} reads no changelog")

    def _filter(self, node: Filter, below: Step) -> Step:
        columns = _input(node).columns
        return lambda batch: [
            change for change, [keeps] in self._compute(columns, [_sql(node.condition)], below(batch)) if keeps
        ]

    def _project(self, node: Project, below: Step) -> Step:
        columns = _input(node).columns
        items = [f"CAST({_sql(item.expression)} AS {_duckdb_type(item)})" for item in node.items]
        names = [item.name for item in node.items]
        return lambda batch: [
            (kind, dict(zip(names, values, strict=True)))
            for (kind, _), values in self._compute(columns, items, below(batch))
        ]

    def _compute(
        self, columns: Sequence[OutputColumn], expressions: Iterable[str], batch: Changes
    ) -> list[tuple[tuple[RowKind, Record], tuple[Any, ...]]]:
        """Each change with the values of expressions over its row."""
        schema = _schema(columns).append(pa.field("__place", pa.int64()))
        placed = [{**row, "__place": place} for place, (_, row) in enumerate(batch)]
        self._database.register("rows", pa.Table.from_pylist(placed, schema=schema))
        wanted = ", ".join(["__place", *expressions])
        found = self._database.execute(f"SELECT {wanted} FROM rows ORDER BY __place").fetchall()
        return [(change, values[1:]) for change, values in zip(batch, found, strict=True)]

    @staticmethod
    def _expand(node: Expand, below: Step) -> Step:
        return lambda batch: [
            (kind, {**row, **{key: None for key in node.keys if key not in kept}, node.number: number})
            for kind, row in below(batch)
            for number, kept in enumerate(node.sets)
        ]

    @staticmethod
    def _unnest(node: Unnest, below: Step) -> Step:
        """Of arrays of plain values."""

        def elements_of(row: Record) -> list[Record]:
            elements = enumerate(row[node.collection] or (), 1)
            made = [
                {part.name: at if part.kind is PartKind.ORDINALITY else one for part in node.parts}
                for at, one in elements
            ]
            return made or ([dict.fromkeys(part.name for part in node.parts)] if node.keeps_rows else [])

        return lambda batch: [
            (kind, {name: row[name] for name in node.kept} | element)
            for kind, row in below(batch)
            for element in elements_of(row)
        ]

    @staticmethod
    def _kernel_aggregate(node: Aggregate, *, insert_only: bool) -> AggregateOperator:
        types = {field.name: field.type for field in _schema(_input(node).columns)}
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
            insert_only=insert_only,
            repeats=node.repeats,
        )

    def _aggregate_rows(self, node: Aggregate, rows: PhysicalNode, below: Step) -> Step:
        kernel = self._kernel(self._kernel_aggregate(node, insert_only=not rows.has_kinds))
        arguments = {_argument(call): call.argument for call in node.calls if call.argument is not None}
        return lambda batch: kernel(
            [(kind, row | {name: row[of] for name, of in arguments.items()}) for kind, row in below(batch)]
        )

    def _keep_by_key(self, operator: NormaliseOperator | MaterialiseOperator, below: Step) -> Step:
        kernel = self._kernel(operator)
        return lambda batch: kernel(below(batch))

    def _join(self, node: Join, left: Step, right: Step) -> Step:
        """In several buckets, as the two halves of an update may be in two."""
        sides = [
            (LEFT, node.left, node.left_columns, node.left_keys, left),
            (RIGHT, node.right, node.right_columns, node.right_keys, right),
        ]
        schemas = {
            name: _schema([column for column in input_.columns if column.name in columns])
            for name, input_, columns, _, _ in sides
        }
        first, second = (JoinSide(schemas[name], keys) for name, _, _, keys, _ in sides)
        condition = pair_condition(node.condition, {name: name for schema in schemas.values() for name in schema.names})
        operator = JoinOperator(first, second, self._expires, node.kind, condition)
        bench = Bench(operator, schemas, buckets=3)
        self._benches.append(bench)
        output = [column.name for column in node.output]

        def step(batch: Changes) -> Changes:
            inputs = {
                name: [(kind, tuple(row[column] for column in schemas[name].names)) for kind, row in below(batch)]
                for name, _, _, _, below in sides
            }
            return [
                (RowKind(row[KIND]), {name: row[MARK if name == node.mark else name] for name in output})
                for row in bench.step_inputs(inputs)
            ]

        return step

    def _set_operation(self, node: SetOperation, left: Step, right: Step) -> Step:
        schema = _schema(node.columns)
        operator = SetOperator(
            schema, isinstance(node, Except), node.is_distinct, expires=self._expires, repeats=node.repeats
        )
        bench = Bench(operator, {LEFT: schema, RIGHT: schema}, buckets=3)
        self._benches.append(bench)

        def step(batch: Changes) -> Changes:
            inputs = {
                name: [(kind, tuple(row[column] for column in schema.names)) for kind, row in below(batch)]
                for name, below in ((LEFT, left), (RIGHT, right))
            }
            return [(RowKind(row.pop(KIND)), row) for row in bench.step_inputs(inputs)]

        return step

    def _rank(self, node: Rank, below: Step) -> Step:
        assert node.limit is not None
        arrivals = {Ties.FIRST: Arrival.FIRST, Ties.LAST: Arrival.LAST}
        operator = RankOperator(
            node.keys,
            tuple(SortKey(column.name, column.descending, column.nulls_last) for column in node.order),
            _schema(_input(node).columns),
            node.limit,
            arrivals.get(node.ties),
            node.rank,
            insert_only=node.reads_inserts,
            emits_before=node.emits_before,
            expires=self._expires,
            repeats=node.repeats,
        )
        kernel = self._kernel(operator, buckets=3)
        return lambda batch: kernel(below(batch))

    def _over(self, node: Over, below: Step) -> Step:
        names = {column.name: column.name for column in node.columns}
        operator = over_operator(node, _schema(_input(node).columns), names, expires=self._expires)
        kernel = self._kernel(operator, buckets=3)
        return lambda batch: [(kind, {name: row[name] for name in names}) for kind, row in kernel(below(batch))]

    def _kernel(self, operator: KeyedOperator, buckets: int = 1) -> Step:
        bench = Bench(operator, operator.schema, buckets=buckets)
        self._benches.append(bench)

        def step(batch: Changes) -> Changes:
            changes = [(kind, tuple(row[name] for name in operator.schema.names)) for kind, row in batch]
            return [(RowKind(row.pop(KIND)), row) for row in bench.step(changes)]

        return step


def _argument(call: AggregateCall) -> str:
    """Calls that take a column in the same type have one argument."""
    return f"{call.argument} as {aggregate_function(call.function).widens and call.function}"


def _schema(columns: Sequence[OutputColumn]) -> pa.Schema:
    return arrow_schema((column.name, column.type) for column in columns)


def _input(node: Node) -> Node:
    [below] = node.inputs
    return below


def _sql(expression: Typed) -> str:
    return sql_text(expression, dialect="duckdb", identify=True)


def _duckdb_type(column: Any) -> str:
    name = str(column.type).removesuffix(" NOT NULL")
    return f"{name.removeprefix('ARRAY<').removesuffix('>')}[]" if name.startswith("ARRAY<") else name
