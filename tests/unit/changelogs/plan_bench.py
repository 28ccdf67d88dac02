"""A plan without Spark: kernels on in-memory state, expressions by DuckDB, batch after batch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from millstream.aggregates.registry import aggregate_function
from millstream.changelog import KIND, RowKind
from millstream.formats.arrow_types import arrow_schema
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.interval_join import IntervalJoinOperator, TimeBounds
from millstream.kernels.join import JoinOperator, JoinSide
from millstream.kernels.materialise import MaterialiseOperator
from millstream.kernels.normalise import NormaliseOperator
from millstream.kernels.operator import LEFT, RIGHT, Operator
from millstream.kernels.partners import MARK
from millstream.kernels.rank import Arrival, RankOperator, SortKey
from millstream.kernels.sessions import SessionOperator
from millstream.kernels.set_operation import SetOperator
from millstream.kernels.temporal_join import TemporalJoinOperator
from millstream.kernels.window_aggregate import WindowAggregateOperator
from millstream.kernels.window_join import WindowJoinOperator
from millstream.kernels.window_rank import WindowRankOperator
from millstream.plan.operators.aggregate import Aggregate, Grouping
from millstream.plan.operators.assign_sessions import AssignSessions
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.assign_windows import AssignWindows
from millstream.plan.operators.expand import Expand
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.interval_join import IntervalJoin
from millstream.plan.operators.join import Join
from millstream.plan.operators.materialise import Materialise
from millstream.plan.operators.node import Binary
from millstream.plan.operators.normalise import Normalise
from millstream.plan.operators.over import Over
from millstream.plan.operators.project import Project
from millstream.plan.operators.rank import Rank, Ties
from millstream.plan.operators.roots import Collect, Write
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.set_operation import Except, SetOperation
from millstream.plan.operators.temporal_join import TemporalJoin
from millstream.plan.operators.union import Union
from millstream.plan.operators.unnest import PartKind, Unnest
from millstream.plan.operators.window_aggregate import WindowAggregate
from millstream.plan.operators.window_join import WindowJoin
from millstream.plan.operators.window_rank import WindowRank
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.vectorised.window_rows import WindowRows, to_times
from millstream.spark.join import pair_condition
from millstream.spark.over import over_operator
from tests.unit.changelogs.plan_time import PlanTime
from tests.unit.kernels.bench import Bench

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import duckdb

    from millstream.kernels.join import PairCondition
    from millstream.plan.operators.aggregate import AggregateCall
    from millstream.plan.operators.node import Node, OutputColumn
    from millstream.plan.physical.nodes import PhysicalNode
    from millstream.plan.typed import Typed
    from millstream.state.state_table import TimeToLive

Record = dict[str, Any]
Changes = list[tuple[RowKind, Record]]


TABLE_OF: Final = "__table"
"""In a record, the only table that has it."""


class OperatorOfRows(Operator, Protocol):
    """One with a single input."""

    @property
    def schema(self) -> pa.Schema: ...


class Step(Protocol):
    def __call__(self, batch: Changes) -> Changes: ...


class PlanBench:
    """Runs what a plan says; each kernel keeps its state from batch to batch.

    Each table with a watermark is one split. A kernel that needs time is stepped in every batch, rows or none.
    """

    def __init__(
        self,
        root: PhysicalNode,
        database: duckdb.DuckDBPyConnection,
        *,
        expires: bool = False,
        colliding: bool = False,
    ) -> None:
        self._expires = expires
        self._colliding = colliding
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

    def stored_rows(self) -> list[int]:
        """In each table of each kernel."""
        return [rows for bench in self._benches for rows in bench.stored_rows().values()]

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
                return self._scan(operator)
            case Aggregate() | WindowAggregate():
                return self._group(operator, node.inputs[0], *inputs)
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
            case Join() if not isinstance(operator, WindowJoin):
                left, right = inputs
                return self._join(operator, left, right, [not below.has_kinds for below in node.inputs])
            case Binary():
                return self._build_binary(operator, *inputs)
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
                return self._build_over_one(operator, below)

    def _build_binary(self, operator: Binary, left: Step, right: Step) -> Step:
        match operator:
            case Join():
                return self._join(operator, left, right)
            case IntervalJoin():
                return self._join_in_time(operator, left, right)
            case TemporalJoin():
                return self._join_versions(operator, left, right)
            case SetOperation():
                return self._set_operation(operator, left, right)
            case _:
                raise AssertionError(f"{type(operator).__name__} reads no changelogs")

    @staticmethod
    def _scan(node: Scan) -> Step:
        names, table = [column.name for column in node.columns], node.source.table.name
        return lambda batch: [
            (kind, {name: row[name] for name in names}) for kind, row in batch if row.get(TABLE_OF, table) == table
        ]

    def _assign_watermark(self, node: PhysicalNode, operator: AssignWatermark, below: Step) -> Step:
        columns = operator.columns
        milliseconds = f"epoch_ms(CAST({_sql(operator.expression)} AS TIMESTAMP))"

        def step(batch: Changes) -> Changes:
            changes = below(batch)
            computed = self._compute(columns, [milliseconds], changes)
            self._time.reach(node, max((time for _, [time] in computed if time is not None), default=None))
            return changes

        return step

    def _build_over_one(self, operator: Node, below: Step) -> Step:
        match operator:
            case AssignSessions():
                return self._assign_sessions(operator, below)
            case Filter():
                return self._filter(operator, below)
            case Project():
                return self._project(operator, below)
            case Expand():
                return self._expand(operator, below)
            case Unnest():
                return self._unnest(operator, below)
            case AssignWindows():
                return self._assign_windows(operator, below)
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

    def _assign_sessions(self, node: AssignSessions, below: Step) -> Step:
        operator = SessionOperator(node.keys, node.column, node.gap, _schema(_input(node).columns), node.follows_clock)
        names = dict(zip(operator.bounds, (node.start, node.end, node.time), strict=True))
        kernel = self._kernel(operator, buckets=3)
        return lambda batch: [
            (kind, {names.get(name, name): value for name, value in row.items()}) for kind, row in kernel(below(batch))
        ]

    @staticmethod
    def _assign_windows(node: AssignWindows, below: Step) -> Step:
        time_type = _schema([column for column in _input(node).columns if column.name == node.column]).types[0]
        types = dict(zip((node.start, node.end), [pa.timestamp("us")] * 2, strict=True)) | {node.time: time_type}

        def step(batch: Changes) -> Changes:
            changes = below(batch)
            found = WindowRows.of(pa.array([row[node.column] for _, row in changes], time_type), node.windows)
            times = {node.start: found.starts, node.end: found.ends, node.time: found.ends - 1}
            columns = {name: to_times(times[name], types[name]).to_pylist() for name in times if name is not None}
            made = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
            rows = [changes[place] for place in found.rows]
            return [(kind, row | own) for (kind, row), own in zip(rows, made or [{}] * len(rows), strict=True)]

        return step

    @staticmethod
    def _kernel_aggregate(node: Grouping, *, insert_only: bool) -> AggregateOperator:
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
            insert_only=insert_only,
        )

    def _group(self, node: Aggregate | WindowAggregate, rows: PhysicalNode, below: Step) -> Step:
        operator = self._kernel_aggregate(node, insert_only=not rows.has_kinds)
        if isinstance(node, WindowAggregate):
            kernel = self._kernel(WindowAggregateOperator(operator, node.end, node.follows_clock), buckets=3)
        else:
            kernel = self._kernel(replace(operator, emits_before=node.emits_before, repeats=node.repeats))
        arguments = {_argument(call): call.argument for call in node.calls if call.argument is not None}
        return lambda batch: kernel(
            [(kind, row | {name: row[of] for name, of in arguments.items()}) for kind, row in below(batch)]
        )

    def _keep_by_key(self, operator: NormaliseOperator | MaterialiseOperator, below: Step) -> Step:
        kernel = self._kernel(operator)
        return lambda batch: kernel(below(batch))

    def _join(self, node: Join, left: Step, right: Step, insert_only: Sequence[bool] = (False, False)) -> Step:
        schemas, counted, condition = _sides(node)
        sides = [replace(side, insert_only=is_known) for side, is_known in zip(counted, insert_only, strict=True)]
        join = JoinOperator(sides[0], sides[1], self._expires and not node.needs_time, node.kind, condition)
        operator = WindowJoinOperator(join, *node.ends, node.follows_clock) if isinstance(node, WindowJoin) else join
        inside = {} if node.mark is None else {node.mark: MARK}
        return self._meet(
            operator, schemas, {column.name: column.name for column in node.columns} | inside, left, right
        )

    def _join_in_time(self, node: IntervalJoin, left: Step, right: Step) -> Step:
        schemas, sides, condition = _sides(node)
        interval = node.interval
        bounds = TimeBounds(interval.lower, interval.upper)
        times = (interval.left_time, interval.right_time)
        operator = IntervalJoinOperator(*sides, bounds, times, node.kind, condition)
        return self._meet(operator, schemas, {column.name: column.name for column in node.columns}, left, right)

    def _join_versions(self, node: TemporalJoin, left: Step, right: Step) -> Step:
        schemas, sides, condition = _sides(node)
        assert node.right_time is not None
        times = (node.left_time, node.right_time)
        operator = TemporalJoinOperator(*sides, times, node.keeps_left, condition)
        return self._meet(operator, schemas, {column.name: column.name for column in node.columns}, left, right)

    def _meet(
        self,
        operator: Operator,
        schemas: Mapping[str, pa.Schema],
        output: Mapping[str, str],
        left: Step,
        right: Step,
    ) -> Step:
        """In several buckets, as the two halves of an update may be in two. `output`: its columns in the kernel."""
        bench = Bench(operator, schemas, buckets=3, colliding=self._colliding)
        self._benches.append(bench)

        def step(batch: Changes) -> Changes:
            inputs = {
                name: [(kind, tuple(row[column] for column in schemas[name].names)) for kind, row in below(batch)]
                for name, below in ((LEFT, left), (RIGHT, right))
            }
            return [
                (RowKind(row[KIND]), {name: row[inside] for name, inside in output.items()})
                for row in bench.step_inputs(inputs)
            ]

        return step

    def _set_operation(self, node: SetOperation, left: Step, right: Step) -> Step:
        schema = _schema(node.columns)
        operator = SetOperator(
            schema, isinstance(node, Except), node.is_distinct, expires=self._expires, repeats=node.repeats
        )
        bench = Bench(operator, {LEFT: schema, RIGHT: schema}, buckets=3, colliding=self._colliding)
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
        windowed = (
            WindowRankOperator(operator, node.end, node.follows_clock) if isinstance(node, WindowRank) else operator
        )
        kernel = self._kernel(windowed, buckets=3)
        return lambda batch: kernel(below(batch))

    def _over(self, node: Over, below: Step) -> Step:
        names = {column.name: column.name for column in node.columns}
        operator = over_operator(node, _schema(_input(node).columns), names, expires=self._expires)
        kernel = self._kernel(operator, buckets=3)
        return lambda batch: [(kind, {name: row[name] for name in names}) for kind, row in kernel(below(batch))]

    def _kernel(self, operator: OperatorOfRows, buckets: int = 1) -> Step:
        bench = Bench(operator, operator.schema, buckets=buckets, colliding=self._colliding)
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


def _sides(
    node: Join | IntervalJoin | TemporalJoin,
) -> tuple[dict[str, pa.Schema], tuple[JoinSide, JoinSide], PairCondition | None]:
    """The columns of both inputs, the same with their keys, and the condition on pairs."""
    schemas = {
        name: _schema([column for column in below.columns if column.name in columns])
        for name, below, columns in ((LEFT, node.left, node.left_columns), (RIGHT, node.right, node.right_columns))
    }
    sides = JoinSide(schemas[LEFT], node.left_keys), JoinSide(schemas[RIGHT], node.right_keys)
    condition = pair_condition(node.condition, {name: name for schema in schemas.values() for name in schema.names})
    return schemas, sides, condition


def _input(node: Node) -> Node:
    [below] = node.inputs
    return below


def _sql(expression: Typed) -> str:
    return sql_text(expression, dialect="duckdb", identify=True)


def _duckdb_type(column: Any) -> str:
    name = str(column.type).removesuffix(" NOT NULL")
    if name.startswith("TIMESTAMP_LTZ"):
        return "TIMESTAMPTZ"
    return f"{name.removeprefix('ARRAY<').removesuffix('>')}[]" if name.startswith("ARRAY<") else name
