"""From the logical plans of a job to its physical plan: every choice about how it runs is made here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.catalog.settings import NativeAggregate
from millstream.changelog import RowKind
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import transform
from millstream.plan.operators.project import Project
from millstream.plan.operators.roots import Collect, Write
from millstream.plan.operators.scan import Scan
from millstream.plan.physical.native_aggregates import native_aggregate_of
from millstream.plan.physical.nodes import Execution, Output, PhysicalNode, PhysicalPlan, Producer, SharedScan
from millstream.plan.physical.shared_scans import scan_of, share_scans
from millstream.plan.physical.ticks import tick_interval
from millstream.plan.typed import user_functions_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.aggregate import Aggregate
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root
    from millstream.plan.physical.shared_scans import WideScan


def plan_physically(roots: Sequence[Root], settings: JobSettings, *, may_be_native: bool = True) -> PhysicalPlan:
    """`may_be_native`: a job whose state is the kernel's goes on with that."""
    owns_producers = any(isinstance(root, Write) and root.sink.needs_own_producer for root in roots)
    # Our own producers take all that a task writes to a table at once, so their INSERTs have no pass in common.
    shared_roots, wide = (tuple(roots), ()) if owns_producers else share_scans(roots)
    may_be_native &= settings.aggregate_native is NativeAggregate.AUTO and not settings.state_expires
    builder = _Builder(may_be_native=may_be_native, wide=wide)
    outputs = tuple(_output(builder.build_root(root), owns_producers=owns_producers) for root in shared_roots)
    plan = PhysicalPlan(outputs, tuple(_shared_scan(found, builder, outputs) for found in wide))
    return replace(plan, tick_interval=tick_interval(settings.state_ttl)) if plan.has_kernels else plan


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

    def __init__(self, *, may_be_native: bool, wide: Sequence[WideScan]) -> None:
        self._may_be_native = may_be_native
        self._shared_ids = {found.scan.id for found in wide}
        self.scans: dict[str, PhysicalNode] = {}

    def build_root(self, root: Root) -> PhysicalNode:
        """What reads a shared scan runs on the kernel: its rows are packed in the pass, and Spark's operator is not."""
        own = scan_of(root)
        is_shared = own is not None and own.id in self._shared_ids
        native = native_aggregate_of(root) if self._may_be_native and not is_shared else None
        return self._build(root, native)

    def _build(self, node: Node, native: Aggregate | None) -> PhysicalNode:
        if node.id in self.scans:
            return self.scans[node.id]
        inputs = tuple(self._build(below, native) for below in node.inputs)
        execution, obstacle = _execution(node, native), None
        if execution is Execution.SPARK and self._gets_rows_in_python(node, inputs):
            obstacle = _obstacle_of(node)
            execution = Execution.PYTHON if obstacle is None else Execution.SPARK
        makes_rows = execution.keeps_state or not inputs
        has_kinds = node.gives_kinds if makes_rows else any(below.has_kinds for below in inputs)
        built = PhysicalNode(node, inputs, execution, has_kinds, obstacle)
        if node.id in self._shared_ids:
            self.scans[node.id] = built
        return built

    def _gets_rows_in_python(self, node: Node, inputs: Sequence[PhysicalNode]) -> bool:
        """Whether it works row by row on rows that are in Python, and in no pass with other readers."""
        if not isinstance(node, Filter) and not (isinstance(node, Project) and node.items):
            return False
        [below] = inputs
        if isinstance(below.operator, Scan) and below.id not in self._shared_ids:
            return below.operator.source.gives_rows_in_python([column.name for column in below.operator.columns])
        return below.execution in (Execution.PYTHON, Execution.KERNEL)


def _obstacle_of(node: Node) -> str | None:
    from millstream.plan.vectorised.forms import obstacle_of  # loads Arrow, which a check does not need

    if isinstance(node, Filter):
        return obstacle_of(node.condition)
    assert isinstance(node, Project)
    computed = (item for item in node.items if not item.is_selection)
    return next(filter(None, (obstacle_of(item.expression, item.type) for item in computed)), None)


def _execution(node: Node, native: Aggregate | None) -> Execution:
    if not node.inputs:
        return Execution.SOURCE
    if isinstance(node, Write | Collect):
        return Execution.SINK
    if not node.keeps_state:
        return Execution.SPARK
    return Execution.NATIVE if node is native else Execution.KERNEL


def _output(root: PhysicalNode, *, owns_producers: bool) -> Output:
    write = root.operator
    if not isinstance(write, Write) or not write.sink.is_kafka:
        return Output(root)
    folds = write.sink.folds_changes and RowKind.UPDATE_BEFORE in write.changelog
    return Output(root, Producer.OWN if owns_producers else Producer.SPARK, folds)


def _shared_scan(found: WideScan, builder: _Builder, outputs: Sequence[Output]) -> SharedScan:
    scan = builder.scans[found.scan.id]
    ends = (_end_of_pass(output.root, scan) for output in outputs)
    return SharedScan(scan, found.readers, tuple(dict.fromkeys(end for end, _ in filter(None, ends))))


def _end_of_pass(node: PhysicalNode, scan: PhysicalNode) -> tuple[PhysicalNode, bool] | None:
    """The last node, going up, that one pass with other readers can do, and whether a row-wise one may follow it.

    None where the scan is not read. A user's function may fail on rows that an INSERT has dropped, and Spark gives it
    all that are there.
    """
    if node is scan:
        return node, True
    if len(node.inputs) != 1:
        return None
    below = _end_of_pass(node.inputs[0], scan)
    if below is None or not below[1]:
        return below
    operator = node.operator
    if isinstance(operator, Filter | Project) and not _calls_user(operator):
        return node, True
    if node.execution is Execution.KERNEL:
        return node, False
    if isinstance(operator, Write) and operator.sink.is_kafka and operator.sink.parallelism is None:
        return node, False
    return below[0], False


def _calls_user(operator: Node) -> bool:
    return any(any(user_functions_in(expression)) for expression in operator.expressions)
