"""What a temporal join calls versions: every row of a table with a primary key, or of those a query has the last of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.changelog import INSERT_ONLY
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.join_kinds import JoinKind
from millstream.plan.casts import keeps_apart
from millstream.plan.conditions import all_of
from millstream.plan.functions.registry import FUNCTIONS
from millstream.plan.functions.signatures import choose
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import transform
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.operators.rank import Rank
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.temporal_join import TemporalJoin
from millstream.plan.typed import Call, Constant, Conversion, InputColumn
from millstream.sql.types import BIGINT, BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root
    from millstream.plan.typed import Typed

_AS_VIEW: Final = (
    "SELECT … FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY key ORDER BY ts DESC) AS rn FROM t) WHERE rn = 1"
)
_NEEDS: Final = "A join as of an event time needs a primary key, by which rows replace each other, and a watermark."


def find_versions(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    return plan.with_inputs(*(transform(below, _find) for below in plan.inputs))


def _find(node: Node) -> Node:
    if not isinstance(node, TemporalJoin):
        return node
    if node.left.changelog != INSERT_ONLY:
        why = f'rows that are updated or deleted cannot be joined with the versions of "{node.table}"'
        detail = "By the time of an update, the version that was joined may be gone."
        raise _refuse(
            node, why, detail, "Leave FOR SYSTEM_TIME AS OF out: a regular join follows changes of both sides."
        )
    keys = node.right.upsert_keys
    if not keys:
        why = f'"{node.table}" has no primary key, so its rows have no versions'
        hint = f"Declare PRIMARY KEY (…) NOT ENFORCED in an upsert-kafka or CDC table; or join a view, {_AS_VIEW}."
        raise _refuse(node, why, _NEEDS, hint)
    times = [column.name for column in node.right.columns if column.name in node.right.rowtimes]
    if not times:
        why = f'"{node.table}" has no event time, so nothing says from when its rows hold'
        hint = "Declare a watermark in its table, e.g. WATERMARK FOR ts AS ts - INTERVAL '5' SECOND."
        raise _refuse(node, why, _NEEDS, hint)
    versions = _every_version(node.right, node)
    return _by_primary_key(replace(node, right=versions, right_time=times[0]), keys)


def _every_version(node: Node, join: TemporalJoin) -> Node:
    """The rows that a query has the last of by key, without the operator that keeps just these."""
    match node:
        case Scan() | AssignWatermark():
            return node
        case Project():
            [below] = node.inputs
            return node.with_inputs(_every_version(below, join))
        case Rank():
            return _ranked(node, join)
        case Filter():
            why = f'the versions of "{join.table}" cannot be filtered'
            detail = "A version that is left out would not end the one before it."
            raise _refuse(join, why, detail, "Put the condition behind ON, or into WHERE.")
        case _:
            why, hint = f'"{join.table}" is no table with versions', f"Join a table, or a view: {_AS_VIEW}."
            raise _refuse(join, why, _NEEDS, hint)


def _ranked(rank: Rank, join: TemporalJoin) -> Node:
    [below] = rank.inputs
    latest = [column.descending and column.name in below.rowtimes for column in rank.order]
    if rank.limit != 1 or latest != [True] or below.changelog != INSERT_ONLY:
        why = f'the rows of "{join.table}" are not the last of each key by event time'
        raise _refuse(join, why, "Only then is each row that is read a version.", f"Join a view: {_AS_VIEW}.")
    if rank.rank is None:
        return below
    own = Project.of_columns(below, below.columns, rank.span)
    first = BIGINT.not_null()
    return replace(own, items=(*own.items, ProjectItem(rank.rank, Constant(1, first), first)))


def _by_primary_key(join: TemporalJoin, keys: Sequence[tuple[str, ...]]) -> Node:
    """Equalities of other columns are conditions on the version that held."""
    columns = {name: _compared_column(join.right, name) for name in join.right_keys}
    key = next((key for key in keys if {*key} <= {*columns.values()}), None)
    if key is None:
        names = ", ".join(f"{join.table}.{name}" for name in keys[0])
        why = f'the primary key of "{join.table}" is not compared with the rows on the left'
        hint = f"Compare each column of it with =, after ON: {names}."
        raise _refuse(join, why, "Versions are told apart by the whole key.", hint)
    pairs = list(zip(join.left_keys, join.right_keys, strict=True))
    own = [pair for pair in pairs if columns[pair[1]] in key]
    rest = [_equality(join, *pair) for pair in pairs if pair not in own]
    joined = replace(join, left_keys=tuple(left for left, _ in own), right_keys=tuple(right for _, right in own))
    if not rest:
        return joined
    if join.kind is JoinKind.INNER:
        return Filter(joined, all_of(rest), join.span)
    return replace(joined, condition=all_of([*rest, *([join.condition] if join.condition else [])]))


def _compared_column(node: Node, name: str) -> str:
    """The column that a key is, or is a conversion of which differs where the column does."""
    for item in node.items if isinstance(node, Project) else ():
        match item.expression:
            case Conversion(value=InputColumn() as column) if item.name == name and keeps_apart(column.type, item.type):
                return column.name
    return name


def _equality(join: TemporalJoin, left: str, right: str) -> Typed:
    types = join.left.column_types() | join.right.column_types()
    sides = (InputColumn(left, types[left]), InputColumn(right, types[right]))
    function = FUNCTIONS["="]
    nullable = types[left].nullable or types[right].nullable
    return Call(function, choose(function, sides), sides, replace(BOOLEAN, nullable=nullable))  # type: ignore[arg-type]


def _refuse(join: TemporalJoin, why: str, detail: str, hint: str) -> ScriptError:
    return ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, why, join.span, detail=detail, hint=hint))
