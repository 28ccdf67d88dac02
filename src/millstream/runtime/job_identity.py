"""The state of a job as its checkpoint describes it, as data: enough to decide whether a changed script can resume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.aggregates.record import EntryKind
from millstream.plan.physical.nodes import Execution
from millstream.runtime.earlier_identities import NATIVELY, describe_changes, describe_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from millstream.plan.physical.nodes import PhysicalNode
    from millstream.plan.program import JobPlan

    State = dict[str, dict[str, Any]]
    """What each operator declares, by the operator's id."""

IDENTITY: Final = 5
"""How a state is described and kept.

Versions 1 and 2 were texts; up to 3, Spark kept the state of kernels; in 4, their files had another layout.
In all of them, and at first in 5, some aggregates ran on Spark's own operator, which says `"runs": "native"`.
"""
_FIRST_AS_DATA: Final = 3
_FIRST_IN_FILES: Final = 4
_STATE: Final = "state"
_VERSION: Final = "identity"
_RUNS: Final = "runs"
_LABELS: Final = {
    "scan.reads": "source",
    "scan.shared": "reading it once for several readers",
    "values.rows": "rows of VALUES, by their checksum",
    "aggregate.keys": "GROUP BY",
    "aggregate.calls": "aggregates",
    "aggregate.sets": "grouping sets",
    "windowaggregate.windows": "windows",
    "windowaggregate.keys": "GROUP BY",
    "windowaggregate.calls": "aggregates",
    "windowaggregate.sets": "grouping sets",
    "assignsessions.windows": "windows",
    "assignsessions.columns": "columns of the rows that are kept",
    "assignsessions.keys": "PARTITION BY",
    "windowrank.windows": "windows",
    "windowrank.columns": "columns of the rows that are kept",
    "windowrank.keys": "PARTITION BY",
    "windowrank.order": "ORDER BY",
    "windowrank.ties": "what decides between rows that are equal in the order",
    "windowrank.limit": "number of rows that are kept",
    "windowrank.retractions": "whether rows are retracted",
    "windowjoin.windows": "windows",
    "windowjoin.left": "left side of the join",
    "windowjoin.right": "right side of the join",
    "windowjoin.left_keys": "join key of the left side",
    "windowjoin.right_keys": "join key of the right side",
    "windowjoin.type": "type of the join",
    "windowjoin.condition": "condition of the join",
    "normalise.columns": "columns of the rows that are kept",
    "normalise.keys": "key of the rows that are kept",
    "materialise.columns": "columns of the rows that are kept",
    "materialise.keys": "key of the rows that are kept",
    "materialise.replaced_by": "key of the query",
    "join.left": "left side of the join",
    "join.right": "right side of the join",
    "join.left_keys": "join key of the left side",
    "join.right_keys": "join key of the right side",
    "join.type": "type of the join",
    "join.condition": "condition of the join",
    "intervaljoin.left": "left side of the join",
    "intervaljoin.right": "right side of the join",
    "intervaljoin.left_keys": "join key of the left side",
    "intervaljoin.right_keys": "join key of the right side",
    "intervaljoin.interval": "interval of the join",
    "intervaljoin.type": "type of the join",
    "intervaljoin.condition": "condition of the join",
    "temporaljoin.left": "left side of the join",
    "temporaljoin.right": "versions of the join",
    "temporaljoin.left_keys": "join key of the left side",
    "temporaljoin.right_keys": "join key of the right side",
    "temporaljoin.times": "times of the join",
    "temporaljoin.type": "type of the join",
    "temporaljoin.condition": "condition of the join",
    "intersect.left": "left side of INTERSECT",
    "intersect.right": "right side of INTERSECT",
    "intersect.rows": "rows of INTERSECT",
    "except.left": "left side of EXCEPT",
    "except.right": "right side of EXCEPT",
    "except.rows": "rows of EXCEPT",
    "over.columns": "columns of the rows that are kept",
    "over.keys": "PARTITION BY",
    "over.order": "ORDER BY",
    "over.time": "kind of time",
    "over.calls": "functions OVER windows",
    "rank.columns": "columns of the rows that are kept",
    "rank.keys": "PARTITION BY",
    "rank.order": "ORDER BY",
    "rank.ties": "what decides between rows that are equal in the order",
    "rank.limit": "number of rows that are kept",
    "rank.retractions": "whether rows are retracted",
}
_IN_SPARKS_STORE: Final = (
    "The version of Millstream that wrote it kept the state of such a job in Spark's state store; "
    "this version keeps it in its own files."
)
_IN_OTHER_FILES: Final = (
    "The version of Millstream that wrote it kept the state of such a job in files of another layout, "
    "which this version cannot read."
)
_NATIVE: Final = "native"
"""In `_RUNS`: Spark's own operator, whose state the kernel cannot read."""
_RUNS_ON: Final = {Execution.KERNEL: "the kernel"}


@dataclass(frozen=True, slots=True)
class StateDifference:
    """How a job differs from what its checkpoint holds."""

    detail: str
    """As sentences: what was, and what is."""
    is_elsewhere: bool = False
    """Whether an earlier version kept the state in another place or layout, so that no script can continue it."""


def declare_state(job: JobPlan) -> dict[str, Any]:
    """The description that a checkpoint stores. It must not change for as long as the job can resume."""
    return {_STATE: _state_of(job), _VERSION: IDENTITY}


def compare_state(known: Mapping[str, Any], job: JobPlan) -> StateDifference | None:
    """None if the job can resume. A description without a version was written by version 1."""
    version = known.get(_VERSION, 1)
    if _began_natively(known):
        return StateDifference(_IN_SPARKS_STORE, is_elsewhere=True)
    if version < _FIRST_AS_DATA:
        said, says = known[_STATE], describe_state(job, version)
        return StateDifference(describe_changes(said, says)) if said != says else _compare_places(version, job)
    before, now = known[_STATE], _state_as_of(version, job)
    return StateDifference(" ".join(_sentences(before, now))) if before != now else _compare_places(version, job)


def kernels_of(known: Mapping[str, Any]) -> list[str]:
    """The operators of a description whose state is in files of their own."""
    if known.get(_VERSION, 1) < _FIRST_IN_FILES:
        return []
    return [operator for operator, fields in known[_STATE].items() if fields.get(_RUNS) == Execution.KERNEL]


def find_elsewhere(known: Mapping[str, Any], job: JobPlan) -> str | None:
    """Where an earlier version kept the state, as a sentence; None if this version finds it."""
    version = known.get(_VERSION, 1)
    if _began_natively(known):
        return _IN_SPARKS_STORE
    if version >= IDENTITY:
        return None
    as_data = known[_STATE].values() if version >= _FIRST_AS_DATA else ()
    ran_on_kernel = any(fields.get(_RUNS) == Execution.KERNEL for fields in as_data)
    return _place_of(version) if ran_on_kernel or _compare_places(version, job) is not None else None


def label_operators(known: Mapping[str, Any], job: JobPlan) -> dict[str, str | None]:
    """The line in EXPLAIN of each operator that keeps state, by its id, if the description is of this version.

    None where the script defines the operator in another way now, or not at all.
    """
    now = _state_of(job)
    labels = {node.id: node.operator.label for node in job.physical.nodes}
    return {
        operator: labels[operator] if fields == now.get(operator) else None
        for operator, fields in known[_STATE].items()
        if _RUNS in fields
    }


def _began_natively(known: Mapping[str, Any]) -> bool:
    if known.get(_VERSION, 1) < _FIRST_AS_DATA:
        return any(step.endswith(NATIVELY) for step in known[_STATE])
    return any(fields.get(_RUNS) == _NATIVE for fields in known[_STATE].values())


def _compare_places(version: int, job: JobPlan) -> StateDifference | None:
    """Whether the state lies where this version finds it."""
    if version >= IDENTITY or not job.physical.has_kernels:
        return None
    return StateDifference(_place_of(version), is_elsewhere=True)


def _place_of(version: int) -> str:
    return _IN_SPARKS_STORE if version < _FIRST_IN_FILES else _IN_OTHER_FILES


def _state_as_of(version: int, job: JobPlan) -> State:
    """The job's state as a version would have described it: before 5, all values were counted, retracted or not."""
    return _state_of(job) if version >= IDENTITY else _count_all_values(_state_of(job))


def _state_of(job: JobPlan) -> State:
    return {
        node.id: {
            **declared,
            **({"shared": True} if job.physical.is_shared(node.id) else {}),
            **({_RUNS: str(node.execution), "inputs": list(_inputs(node))} if _keeps_state(node) else {}),
        }
        for node in job.physical.nodes
        if (declared := node.operator.declare_state()) is not None
    }


def _inputs(node: PhysicalNode) -> Iterator[str]:
    """The operators that feed it, down to the next ones that have state themselves."""
    for below in node.inputs:
        if _keeps_state(below) or not below.inputs:
            yield below.id
        else:
            yield from _inputs(below)


def _keeps_state(node: PhysicalNode) -> bool:
    return node.execution is Execution.KERNEL


def _count_all_values(state: State) -> State:
    counted = {"values": str(EntryKind.MULTISET)}
    return {
        name: fields | {"calls": [call | counted if call.get("values") == EntryKind.SET else call for call in calls]}
        if (calls := fields.get("calls"))
        else fields
        for name, fields in state.items()
    }


def _sentences(before: State, now: State) -> Iterator[str]:
    for operator in (*before, *(new for new in now if new not in before)):
        was, is_ = before.get(operator, {}), now.get(operator, {})
        for field in dict.fromkeys((*was, *is_)):
            if was.get(field) == is_.get(field):
                continue
            label = _label(operator, field)
            if field not in is_:
                yield f"{label}: {_text(was[field])} has been removed."
            elif field not in was:
                yield f"{label}: {_text(is_[field])} has been added."
            else:
                yield f"{label}: was {_text(was[field])}, is {_text(is_[field])}."


def _label(operator: str, field: str) -> str:
    kind = operator.rpartition("-")[0]
    general = {_RUNS: f"operator of the {kind}", "inputs": f"inputs of the {kind}"}
    return _LABELS.get(f"{kind}.{field}") or general.get(field) or f"{field} of {operator}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_item_text, value))}]"
    return _RUNS_ON.get(value) or f"[{value}]"


def _item_text(item: Any) -> str:
    if isinstance(item, list):
        return f"({', '.join(item)})"
    if not isinstance(item, dict):
        return str(item)
    parts = (f"FILTER (WHERE {text})" if part == "filter" else text for part, text in item.items() if part != "values")
    kept = f" (kept as {item['values']})" if "values" in item else ""
    return " ".join(parts) + kept
