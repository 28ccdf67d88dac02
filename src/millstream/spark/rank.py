"""The first rows of each group on the kernel host.

Columns have numbers for names inside: PySpark looks names up unquoted, and a user's name may contain dots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.changelog import KIND
from millstream.kernels.operator import ROWS
from millstream.kernels.rank import Arrival, RankOperator, SortKey
from millstream.plan.operators.rank import Ties
from millstream.spark.comparable import kernel_schema
from millstream.spark.kernel_host import host
from millstream.spark.python_rows import ColumnUse, prepare_columns, schema_of, struct_of

if TYPE_CHECKING:
    from millstream.plan.operators.rank import Rank
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import InputRows, PythonStage

_RANK: Final = "rank"
_ARRIVALS: Final = {Ties.FIRST: Arrival.FIRST, Ties.LAST: Arrival.LAST}


def rank(rows: InputRows, node: Rank, kernel_settings: KernelSettings, *, has_kinds: bool) -> PythonStage:
    prepared, operator, columns = prepare_rank(rows, node, kernel_settings)
    kind = {KIND: KIND} if has_kinds else {}
    return host({ROWS: prepared}, operator, node.id, kernel_settings, {**columns, **kind})


def prepare_rank(
    rows: InputRows, node: Rank, kernel_settings: KernelSettings
) -> tuple[InputRows, RankOperator, dict[str, str]]:
    """The rows as the kernel takes them, and its columns by their names in the plan."""
    schema = schema_of(rows)
    uses = [
        ColumnUse(
            column.name,
            f"column{number}",
            schema[column.name].dataType,
            is_compared=column.name in node.compared_columns,
        )
        for number, column in enumerate(node.inputs[0].columns)
    ]
    inside = {use.source: use.name for use in uses}
    assert node.limit is not None
    operator = RankOperator(
        tuple(inside[key] for key in node.keys),
        tuple(SortKey(inside[column.name], column.descending, column.nulls_last) for column in node.order),
        kernel_schema(struct_of(uses)),
        node.limit,
        _ARRIVALS.get(node.ties),
        None if node.rank is None else _RANK,
        insert_only=node.reads_inserts,
        emits_before=node.emits_before,
        expires=kernel_settings.expires,
        repeats=node.repeats,
    )
    columns = inside if node.rank is None else {**inside, node.rank: _RANK}
    return prepare_columns(rows, uses), operator, columns
