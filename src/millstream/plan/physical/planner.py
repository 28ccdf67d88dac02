"""From the logical plans of a job to its physical plan: every choice about how it runs is made here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from millstream.catalog.settings_of_flink import NotNullEnforcer
from millstream.changelog import RowKind
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.assign_windows import AssignWindows
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import state_ttls, transform
from millstream.plan.operators.project import Project
from millstream.plan.operators.roots import Collect, Write
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.union import Union
from millstream.plan.operators.unnest import Unnest
from millstream.plan.physical.known_cases import settle_cases
from millstream.plan.physical.narrow_rows import narrow_rows
from millstream.plan.physical.nodes import Execution, Output, PhysicalNode, PhysicalPlan, Producer, SharedScan, walk_up
from millstream.plan.physical.paired_scans import pair_scans, plan_pairs
from millstream.plan.physical.passes import plan_pass
from millstream.plan.physical.python_steps import gives_rows_in_python, obstacle_in
from millstream.plan.physical.shared_scans import share_scans
from millstream.plan.physical.ticks import tick_interval
from millstream.plan.physical.unions import is_united, push_below_union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root
    from millstream.plan.physical.passes import Pass

_AT_ONCE: Final = timedelta(milliseconds=1)
"""What follows the clock may have something to do at any time."""
_ROW_BY_ROW: Final = (AssignWatermark, Filter, Project, Union, Unnest)
"""What can be done with rows where they are."""


def plan_physically(
    roots: Sequence[Root], settings: JobSettings, *, may_share_scans: bool = True, may_pair_scans: bool = True
) -> PhysicalPlan:
    """A job that began by reading a table for each INSERT, or for each input of an operator, goes on so."""
    # A transaction takes all that a task writes to a table at once, so such INSERTs have no pass in common.
    may_share_scans &= not any(isinstance(root, Write) and root.sink.is_exactly_once for root in roots)
    roots = settle_cases(roots)
    shared_roots, wide = share_scans(roots) if may_share_scans else (tuple(roots), ())
    shared_roots, paired = pair_scans(shared_roots) if may_share_scans and may_pair_scans else (shared_roots, ())
    drops_nulls = settings.not_null_enforcer is NotNullEnforcer.DROP
    shared_roots = narrow_rows(shared_roots)
    passes = (
        *(plan_pass(found, shared_roots, drops_nulls=drops_nulls) for found in wide),
        *plan_pairs(paired, shared_roots),
    )
    builder = _Builder(passes)
    outputs = tuple(_output(builder.build(root)) for root in shared_roots)
    plan = PhysicalPlan(outputs, tuple(_shared_scan(each, outputs) for each in passes))
    if not plan.has_kernels:
        return plan
    ttls = [ttl for root in roots for ttl in state_ttls(root, settings.state_ttl)]
    timeouts = [node.operator.idle_after for node in plan.nodes if isinstance(node.operator, AssignWatermark)]
    waits = [*ttls, *(timeout for timeout in timeouts if timeout)]
    waits += [_AT_ONCE for node in plan.nodes if node.operator.follows_clock]
    return replace(plan, tick_interval=tick_interval(waits), state_expires=bool(ttls))


def assign_ids(roots: Sequence[Root]) -> tuple[Root, ...]:
    """Each operator gets an id from its place: `aggregate-2` is the second aggregate, from what is read upwards.

    Operators of one kind are counted by themselves, so that a filter more does not change what state belongs to.
    """
    numbers: Counter[str] = Counter()

    def identify(node: Node) -> Node:
        kind = type(node).__name__.lower()
        numbers[kind] += 1
        return node.with_id(f"{kind}-{numbers[kind]}")

    return tuple(_assign_ids(root, identify) for root in roots)


def _assign_ids(root: Root, identify: Callable[[Node], Node]) -> Root:
    found = transform(root, identify)
    assert isinstance(found, Write | Collect)
    return found


class _Builder:
    """Builds physical nodes; one for a scan that several plans read."""

    def __init__(self, passes: Sequence[Pass]) -> None:
        self._passes = {each.scan.id: each for each in passes}
        self._scans: dict[str, PhysicalNode] = {}

    def build(self, node: Node, *, tells_time: bool = False) -> PhysicalNode:
        if node.id in self._scans:
            return self._scans[node.id]
        inputs = tuple(self.build(below, tells_time=tells_time or node.needs_time) for below in node.inputs)
        execution, obstacle = _execution(node), None
        if isinstance(node, AssignWatermark | Filter | Project | Union | Unnest) and all(
            map(self._gives_rows_in_python, inputs)
        ):
            obstacle = obstacle_in(node)
            execution = Execution.PYTHON if obstacle is None else Execution.SPARK
        if execution is Execution.PYTHON and not isinstance(node, Union) and is_united(inputs[0]):
            return push_below_union(node, inputs[0])
        makes_rows = execution is Execution.KERNEL or not inputs
        has_kinds = node.gives_kinds if makes_rows else any(below.has_kinds for below in inputs)
        built = PhysicalNode(node, inputs, execution, has_kinds, obstacle, tells_time)
        if node.id in self._passes:
            self._scans[node.id] = built
        return built

    def _gives_rows_in_python(self, node: PhysicalNode) -> bool:
        """Whether its rows are in Python, and in no pass that returns them to Spark."""
        if isinstance(node.operator, AssignWatermark):
            return True  # what it computes is taken from the rows in Python
        if not isinstance(node.operator, Scan):
            return node.execution in (Execution.PYTHON, Execution.KERNEL)
        if node.id in self._passes:
            return self._passes[node.id].obstacle is None
        return gives_rows_in_python(node.operator)


def _execution(node: Node) -> Execution:
    if not node.inputs:
        return Execution.SOURCE
    if isinstance(node, Write | Collect):
        return Execution.SINK
    if node.looked_up or isinstance(node, AssignWindows):
        return Execution.PYTHON
    return Execution.KERNEL if node.keeps_state else Execution.SPARK


def _output(root: PhysicalNode) -> Output:
    write = root.operator
    if not isinstance(write, Write) or not write.sink.is_kafka:
        return Output(root)
    folds = write.sink.folds_changes and RowKind.UPDATE_BEFORE in write.changelog
    return Output(root, Producer.PROCESS if write.sink.is_exactly_once else Producer.WORKER, folds)


def _shared_scan(planned: Pass, outputs: Sequence[Output]) -> SharedScan:
    nodes = [node for output in outputs for node in walk_up(output.root)]
    ends = tuple(next(node for node in nodes if node.operator is end) for end in planned.ends)
    scan = next(node for node in nodes if node.operator is planned.scan)
    return SharedScan(scan, planned.readers, tuple(dict.fromkeys(ends)), planned.obstacle)
