"""An operator that says what time it is, for plans and for the kernel host."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pyarrow as pa

from millstream.changelog import INSERT_ONLY, KIND
from millstream.kernels.operator import LEFT, RIGHT, ROWS, StateTableSpec, StepResult
from millstream.plan.operators.node import Node, OutputColumn
from millstream.plan.physical.planner import assign_ids
from millstream.plan.rules import RULES
from millstream.spark import translate
from millstream.spark.kernel_host import host
from millstream.spark.python_rows import ColumnUse, prepare_columns, schema_of
from millstream.sql.types import BIGINT
from millstream.state.state_table import DEAD, HASH
from millstream.testing.script_kafka import ScriptKafka

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

    from millstream.changelog import ChangelogMode
    from millstream.kernels.operator import BatchTime, OpenTable, Parts
    from millstream.plan.operators.roots import Root
    from millstream.plan.physical.nodes import PhysicalNode
    from millstream.plan.program import Program
    from millstream.source import Span
    from millstream.spark.python_stage import InputRows, PythonStage
    from millstream.spark.translate import TranslationContext
    from millstream.state.state_table import StateTable

BUCKETS = 3
TOLD = ("clock", "seen", "now", "watermark", "before")


@dataclass(frozen=True, slots=True)
class ClockOperator:
    """Says once per bucket and batch what time it is, and how many rows it has seen in all.

    All rows count as late that come after a batch with a watermark.
    """

    needs_time: ClassVar = True
    state_tables: ClassVar = {"seen": StateTableSpec((pa.field("key", pa.int64()),), (pa.field("rows", pa.int64()),))}
    output_schema: ClassVar = pa.schema([(name, pa.int64()) for name in TOLD] + [(KIND, pa.int8())])

    hashed: str = "id"
    number: int = 0
    watermark_delay_ms: int = 0
    inputs: tuple[str, ...] = (ROWS,)

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: (self.hashed,)}

    def needs_order(self, _: str) -> bool:
        return False

    def combine(self, name: str, batch: pa.Table) -> Parts:
        return {name: batch}

    def open(self, open_table: OpenTable) -> ClockKernel:
        return ClockKernel(open_table("seen"), self.number)


@dataclass(frozen=True, slots=True)
class ClockKernel:
    seen: StateTable
    number: int

    def step(self, parts: Parts, time: BatchTime) -> StepResult:
        key = pa.table({HASH: pa.array([0]), "key": pa.array([0])})
        before = self.seen.lookup(key).values.column("rows")[0].as_py() or 0
        rows = before + sum(part.num_rows for part in parts.values())
        self.seen.put(key.append_column("rows", pa.array([rows])).append_column(DEAD, pa.array([False])))
        told = [[value] for value in (self.number, rows, time.now, time.watermark, time.before, 0)]
        late = 0 if time.before is None else rows - before
        return StepResult((pa.table(told, schema=ClockOperator.output_schema),), late=late)


@dataclass(frozen=True, slots=True)
class Clock(Node):
    """The operator in a plan."""

    below: tuple[Node, ...]
    span: Span
    number: int = 0
    delay_ms: int = 0
    id: str = ""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.below

    def with_inputs(self, *inputs: Node) -> Clock:
        return replace(self, below=inputs)

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return tuple(OutputColumn(name, BIGINT) for name in TOLD)

    @property
    def changelog(self) -> ChangelogMode:
        return INSERT_ONLY

    @property
    def label(self) -> str:
        return "Clock"

    @property
    def keeps_state(self) -> bool:
        return True

    @property
    def needs_time(self) -> bool:
        return True

    def declare_state(self) -> dict[str, object]:
        return {"number": self.number}

    def prune(self, needed: frozenset[str]) -> tuple[Clock, tuple[frozenset[str], ...]]:  # noqa: ARG002
        return self, tuple(frozenset(below.column_types()) for below in self.below)


def translate_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Translates this operator, too."""
    ordinary = translate.stateful_step

    def stateful_step(inputs: Sequence[InputRows], node: PhysicalNode, context: TranslationContext) -> PythonStage:
        if not isinstance(node.operator, Clock):
            return ordinary(inputs, node, context)
        names = (ROWS,) if len(inputs) == 1 else (LEFT, RIGHT)
        prepared = {}
        for name, rows, below in zip(names, inputs, node.operator.below, strict=True):
            column = below.columns[0].name
            prepared[name] = prepare_columns(rows, [ColumnUse(column, "id", schema_of(rows)[column].dataType)])
        operator = ClockOperator("id", node.operator.number, node.operator.delay_ms, names)
        return host(prepared, operator, node.id, context.settings_of(node), {name: name for name in TOLD})

    for module in ("translate", "shared_scans"):
        monkeypatch.setattr(f"millstream.spark.{module}.stateful_step", stateful_step)


class Moment(NamedTuple):
    """What the buckets of a clock were told in a batch."""

    clock: int
    before: int | None
    watermark: int | None
    seen: int
    """By all of them, in this batch and before."""


def moments(brokers: str, topic: str) -> list[Moment]:
    """In the order of batches, whole ones only; all buckets of a clock must have been told the same."""
    batches: defaultdict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for received in ScriptKafka(brokers).read(topic):
        row = json.loads(received.message.value or b"")
        batches[row["now"], row["clock"]].append(row)
    found = []
    for (_, clock), rows in sorted(batches.items()):
        if len(rows) < BUCKETS:  # it is just being written
            continue
        assert len(rows) == BUCKETS, rows
        [(before, watermark)] = {(row["before"], row["watermark"]) for row in rows}
        found.append(Moment(clock, before, watermark, sum(row["seen"] for row in rows)))
    return found


def rule(root: Root, settings: Any) -> Root:
    for each in RULES:
        root = each(root, settings)
    return root


def with_clocks(program: Program, *roots: Root) -> Program:
    """The program whose last job has these roots instead."""
    [*_, job] = program.jobs
    ruled = assign_ids([rule(root, job.settings) for root in roots])
    return replace(program, steps=(replace(job, roots=ruled),))
