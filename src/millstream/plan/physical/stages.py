"""A physical plan as stages: what is done with rows between two exchanges, in order, and where it is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from millstream.plan.operators.roots import Write
from millstream.plan.operators.scan import Scan
from millstream.plan.physical.nodes import Execution

if TYPE_CHECKING:
    from millstream.plan.physical.nodes import Output, PhysicalNode, PhysicalPlan

_SPARK: Final = "[Spark]"
_PYTHON: Final = "[Python]"


@dataclass(slots=True)
class Stage:
    number: int
    reads: tuple[int, ...] = ()
    """The stages whose rows it gets."""
    exchange: tuple[str, ...] | None = None
    """The columns by which they are exchanged; None where they stay in their tasks."""
    steps: list[str] = field(default_factory=list)


def stages_of(plan: PhysicalPlan) -> tuple[Stage, ...]:
    """In the order in which rows pass them."""
    return _Staging(plan).stages()


class _Staging:
    def __init__(self, plan: PhysicalPlan) -> None:
        self._plan = plan
        self._stages: list[Stage] = []
        self._shared: dict[PhysicalNode, Stage] = {}

    def stages(self) -> tuple[Stage, ...]:
        for output in self._plan.outputs:
            [below] = output.root.inputs
            self._write(self._stage(below), output)
        return tuple(self._stages)

    def _open(self, *reads: Stage, exchange: tuple[str, ...] | None = None) -> Stage:
        stage = Stage(len(self._stages) + 1, tuple(each.number for each in reads), exchange)
        self._stages.append(stage)
        return stage

    def _stage(self, node: PhysicalNode) -> Stage:
        """The stage in which the rows of a node are made."""
        if not node.inputs:
            return self._source(node)
        below = [self._stage(each) for each in node.inputs]
        name = type(node.operator).__name__
        if node.execution is Execution.SPARK:
            stage = below[0] if len(below) == 1 else self._open(*below)
            stage.steps.append(f"{name} {_SPARK}")
            return stage
        for each in below:
            each.steps.append(
                f"{'partial aggregate' if node.execution is Execution.NATIVE else 'combine'} for {node.id}"
            )
        stage = self._open(*below, exchange=node.operator.exchange_keys)
        stage.steps.append(f"{name} {node.id} [{node.execution}]")
        return stage

    def _source(self, node: PhysicalNode) -> Stage:
        shared = next((each for each in self._plan.shared if each.scan is node), None)
        if shared is None:
            stage = self._open()
            stage.steps += _reading(node)
            return stage
        if node not in self._shared:
            self._shared[node] = self._open()
            self._shared[node].steps += _reading(node)
            self._shared[node].steps.append(f"shared by {', '.join(shared.readers)}")
        return self._open(self._shared[node])

    def _write(self, stage: Stage, output: Output) -> None:
        write = output.root.operator
        if not isinstance(write, Write):
            stage.steps.append("show")
            return
        if write.sink.parallelism is not None:
            stage = self._open(stage, exchange=write.sink.exchange_keys)
        if output.producer is not None:
            stage.steps.append(f"encode{', changes of a key folded' if output.folds else ''} {_PYTHON}")
        by = f" by {output.producer}" if output.producer is not None else ""
        stage.steps.append(f"write {write.sink.table.name}{by}")


def _reading(node: PhysicalNode) -> list[str]:
    if not isinstance(node.operator, Scan):
        return [f"Values {node.id} {_SPARK}"]
    source = node.operator.source
    decoding = [f"decode {source.decoding}"] if source.decoding else []
    return [f"Scan {node.id}: {source.reads}", *decoding]
