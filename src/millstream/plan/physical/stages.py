"""A physical plan as stages: what is done with rows between two exchanges, in order, and where it is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from millstream.catalog.durations import duration_text
from millstream.plan.operators.node import walk
from millstream.plan.operators.roots import Write
from millstream.plan.operators.scan import Scan
from millstream.plan.physical.nodes import Execution

if TYPE_CHECKING:
    from millstream.plan.physical.nodes import Output, PhysicalNode, PhysicalPlan

_SPARK: Final = "[Spark]"
_PYTHON: Final = "[Python]"
_TASK: Final = "task"
"""In one pass with readers that keep state, the rows of all go through one exchange; these stay together."""
_FILE: Final = "file"
"""Exactly once, a batch that is repeated on other cores must meet the same rows of a file in a task."""


@dataclass(slots=True)
class Stage:
    number: int
    reads: tuple[int, ...] = ()
    """The stages whose rows it gets."""
    exchange: str | None = None
    """By what they are exchanged, e.g. `[id]` for a column; None where they stay in their tasks."""
    steps: list[str] = field(default_factory=list)


def stages_of(plan: PhysicalPlan) -> tuple[Stage, ...]:
    """In the order in which rows pass them."""
    return _Staging(plan).stages()


class _Staging:
    def __init__(self, plan: PhysicalPlan) -> None:
        self._plan = plan
        self._stages: list[Stage] = []
        self._shared: dict[PhysicalNode, Stage] = {}
        mixed = (shared for shared in plan.shared if not all(isinstance(end.operator, Write) for end in shared.ends))
        self._packed = {end for shared in mixed for end in shared.ends if end.execution is not Execution.KERNEL}
        """Up to where rows are sent in packets of all readers, which a kernel does anyway."""
        self._ends = {end for shared in plan.shared for end in shared.ends}
        self._is_exactly_once = any(write.sink.is_exactly_once for write in plan.writes)

    def stages(self) -> tuple[Stage, ...]:
        for output in self._plan.outputs:
            [below] = output.root.inputs
            self._write(self._stages_with(below, in_pass=output.root in self._ends), output)
        return tuple(self._stages)

    def _open(self, *reads: Stage, exchange: str | None = None) -> Stage:
        stage = Stage(len(self._stages) + 1, tuple(each.number for each in reads), exchange)
        self._stages.append(stage)
        return stage

    def _stages_with(self, node: PhysicalNode, *, in_pass: bool) -> list[Stage]:
        """The stages in which the rows of a node are at hand; `in_pass`: a shared pass ends above it.

        There are several if a union keeps the rows of its inputs apart.
        """
        stages = self._stages_of_operator(node, in_pass=in_pass)
        return [self._open(*stages, exchange=_TASK)] if node in self._packed and not in_pass else stages

    def _stages_of_operator(self, node: PhysicalNode, *, in_pass: bool) -> list[Stage]:
        if not node.inputs:
            return [self._source(node)]
        is_spark_union = node.execution is Execution.SPARK and len(node.inputs) > 1
        below: list[Stage] = []
        for input_ in node.inputs:
            stages = self._stages_with(input_, in_pass=in_pass or node in self._ends)
            below += [self._pin(input_, stage) for stage in stages] if is_spark_union else stages
        name = type(node.operator).__name__
        if node.execution in (Execution.SPARK, Execution.PYTHON):
            stages = [self._open(*below)] if is_spark_union else below
            why = f": {node.obstacle}" if node.obstacle else ""
            for each in stages:
                each.steps.append(f"{name}{_looked_up(node)} [{node.execution}{why}]")
            return stages
        for each in below:
            each.steps.append(f"combine for {node.id}")
        stage = self._open(*below, exchange=_by_columns(node.operator.exchange_keys))
        layout = node.operator.describe_layout([input_.has_kinds for input_ in node.inputs])
        stored = f"; {layout}" if layout else ""
        stage.steps.append(f"{name} {node.id} [{node.execution}]{self._ticks()}{stored}")
        return [stage]

    def _ticks(self) -> str:
        interval = self._plan.tick_interval
        return "" if interval is None else f", ticks every {duration_text(interval)}"

    def _source(self, node: PhysicalNode) -> Stage:
        shared = next((each for each in self._plan.shared if each.scan is node), None)
        if shared is None:
            stage = self._open()
            stage.steps += _reading(node)
            return stage
        if node not in self._shared:
            self._shared[node] = self._open()
            self._shared[node].steps += _reading(node)
            where = _PYTHON if shared.obstacle is None else f"[Spark: {shared.obstacle}]"
            self._shared[node].steps.append(f"shared by {', '.join(shared.readers)} {where}")
        return self._open(self._shared[node])

    def _pin(self, node: PhysicalNode, stage: Stage) -> Stage:
        """Where rows of files leave the tasks that read them, because a replay must find them in the same ones."""
        return self._open(stage, exchange=_FILE) if self._is_exactly_once and _is_of_files(node) else stage

    def _write(self, stages: list[Stage], output: Output) -> None:
        write = output.root.operator
        if isinstance(write, Write) and write.sink.parallelism is not None:
            stages = [self._open(*stages, exchange=_by_columns(write.sink.exchange_keys))]
        elif output.producer is not None:
            stages = [self._pin(output.root.inputs[0], stage) for stage in stages]
        for stage in stages:
            self._write_from(stage, output)

    def _write_from(self, stage: Stage, output: Output) -> None:
        write = output.root.operator
        if not isinstance(write, Write):
            stage.steps.append("show")
            return
        if output.producer is not None:
            stage.steps.append(f"encode{', changes of a key folded' if output.folds else ''} {_PYTHON}")
        where = f" [{output.producer}]" if output.producer is not None else ""
        stage.steps.append(f"write {write.sink.table.name}{where}")


def _looked_up(node: PhysicalNode) -> str:
    tables = (each for table in node.operator.looked_up for each in walk(table))
    reads = [each.source.reads for each in tables if isinstance(each, Scan)]
    return f" {node.id}: {', '.join(reads)}" if reads else ""


def _by_columns(names: tuple[str, ...]) -> str:
    return f"[{', '.join(names)}]"


def _is_of_files(node: PhysicalNode) -> bool:
    """Whether its rows are still where a file was read."""
    if isinstance(node.operator, Scan):
        return node.operator.source.folder is not None
    return node.execution is Execution.SPARK and len(node.inputs) == 1 and _is_of_files(node.inputs[0])


def _reading(node: PhysicalNode) -> list[str]:
    if not isinstance(node.operator, Scan):
        return [f"Values {node.id} {_SPARK}"]
    source = node.operator.source
    decoding = [f"decode {source.decoding}"] if source.decoding else []
    return [f"Scan {node.id}: {source.reads}", *decoding]
