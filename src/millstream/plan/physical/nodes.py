"""A physical plan: the operators of a logical one with all that is decided about how they run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from millstream.changelog import INSERT_ONLY
from millstream.plan.operators.roots import Write
from millstream.plan.operators.scan import Scan
from millstream.plan.physical.python_steps import gives_rows_in_python

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from millstream.plan.operators.node import Node


class Execution(StrEnum):
    """What runs an operator."""

    SOURCE = "source"
    PYTHON = "Python"
    """Row by row, in the crossing that made the rows."""
    SPARK = "Spark"
    """Row by row, as expressions of Spark's."""
    KERNEL = "kernel"
    """With state, on the kernel host."""
    SINK = "sink"


class Producer(StrEnum):
    """What writes messages to Kafka."""

    WORKER = "Python"
    """At least once, where they are encoded."""
    PROCESS = "delivery process"
    """In transactions."""


@dataclass(frozen=True, slots=True, eq=False)
class PhysicalNode:
    """An operator that runs; two with equal contents are two."""

    operator: Node
    inputs: tuple[PhysicalNode, ...]
    execution: Execution
    has_kinds: bool
    """Whether rows carry their kind beside them; rows without one are inserts."""
    obstacle: str | None = None
    """What only Spark can evaluate, so that rows have to leave Python for it."""
    tells_time: bool = False
    """Whether an operator with state above it must know how far event time has come in its rows."""

    @property
    def carries_time(self) -> bool:
        """Whether event time must reach it."""
        return self.tells_time or self.operator.needs_time

    @property
    def id(self) -> str:
        return self.operator.id

    @property
    def is_insert_only(self) -> bool:
        return self.operator.changelog == INSERT_ONLY


@dataclass(frozen=True, slots=True, eq=False)
class SharedScan:
    """A scan that several INSERTs of a set, or both inputs of an operator, read in one pass."""

    scan: PhysicalNode
    readers: tuple[str, ...]
    """The tables that these INSERTs write, or the inputs, in words."""
    ends: tuple[PhysicalNode, ...]
    """Per reader the last node, going up, that the pass does for it."""
    obstacle: str | None = None
    """What only Spark can do for a reader, so that the rows of all return to it before they part."""


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """Where a plan ends, and how its rows are written."""

    root: PhysicalNode
    producer: Producer | None = None
    """None where nothing is written to Kafka."""
    folds: bool = False
    """Whether the changes of a key within a batch become one message."""


@dataclass(frozen=True, slots=True, eq=False)
class PhysicalPlan:
    outputs: tuple[Output, ...]
    shared: tuple[SharedScan, ...] = ()
    state_expires: bool = False
    """Whether some state has a TTL."""
    tick_interval: timedelta | None = None
    """How often a batch reaches all of its state at the least; None if only rows do."""

    @property
    def roots(self) -> tuple[PhysicalNode, ...]:
        return tuple(output.root for output in self.outputs)

    @property
    def nodes(self) -> tuple[PhysicalNode, ...]:
        """Each once; what a node reads comes before it."""
        return tuple(dict.fromkeys(node for root in self.roots for node in walk_up(root)))

    @property
    def scans(self) -> tuple[Scan, ...]:
        """Where tables are read; a scan that INSERTs share counts once."""
        return tuple(node.operator for node in self.nodes if isinstance(node.operator, Scan))

    @property
    def writes(self) -> tuple[Write, ...]:
        return tuple(root.operator for root in self.roots if isinstance(root.operator, Write))

    @property
    def has_kernels(self) -> bool:
        return any(node.execution is Execution.KERNEL for node in self.nodes)

    @property
    def needs_time(self) -> bool:
        """Whether what it gives depends on event time."""
        return any(node.operator.needs_time for node in self.nodes)

    @property
    def keeps_rows_in_python(self) -> bool:
        """Whether Spark itself works on no row: it plans, starts tasks and moves packets."""
        return (
            all(isinstance(node.operator, Scan) for node in self.nodes if not node.inputs)
            and all(map(gives_rows_in_python, self.scans))
            and not any(node.execution is Execution.SPARK for node in self.nodes)
            and not any(shared.obstacle for shared in self.shared)
            and all(isinstance(root.operator, Write) and root.operator.sink.encodes_in_python for root in self.roots)
        )

    def is_shared(self, scan_id: str) -> bool:
        return any(shared.scan.id == scan_id for shared in self.shared)


def walk_up(node: PhysicalNode) -> Sequence[PhysicalNode]:
    """The nodes below it, and then itself."""
    found, ahead = [], [node]
    while ahead:
        found.append(at := ahead.pop())
        ahead += at.inputs
    return found[::-1]
