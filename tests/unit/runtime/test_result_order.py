"""A table that is shown is in the order of the query, as far as its columns are selected."""

from __future__ import annotations

import pytest

from millstream.plan.operators.node import SortColumn
from millstream.plan.program import compile_script
from millstream.runtime.result_order import sort_rows
from millstream.source import SourceText

NAN = float("nan")


@pytest.mark.parametrize(
    ("order", "numbers"),
    [
        ([SortColumn("x")], [None, 1.0, 2.0, 2.0, NAN]),
        ([SortColumn("x", descending=True, nulls_last=True)], [NAN, 2.0, 2.0, 1.0, None]),
        ([SortColumn("x", nulls_last=True)], [1.0, 2.0, 2.0, NAN, None]),
        ([], [2.0, None, NAN, 1.0, 2.0]),
    ],
)
def test_nulls_and_nan_have_their_places(order: list[SortColumn], numbers: list[float | None]) -> None:
    rows = [("a", 2.0), ("b", None), ("c", NAN), ("d", 1.0), ("e", 2.0)]
    assert repr([row[1] for row in sort_rows(rows, ["n", "x"], order)]) == repr(numbers)


def test_the_next_column_decides_between_equal_values() -> None:
    rows = [("b", 1), ("a", 2), ("c", 1), ("a", 1)]
    order = [SortColumn("x", descending=True), SortColumn("n")]
    assert sort_rows(rows, ["n", "x"], order) == [("a", 2), ("a", 1), ("b", 1), ("c", 1)]


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("SELECT a AS n, b FROM t ORDER BY b DESC, n LIMIT 3", ["b DESC", "n"]),
        ("SELECT a, b FROM t ORDER BY a LIMIT 3 OFFSET 2", ["a"]),
        ("SELECT a FROM t ORDER BY a, b LIMIT 3", ["a"]),
        ("SELECT a FROM t ORDER BY b, a LIMIT 3", []),
        ("SELECT COUNT(*) AS n FROM (SELECT a FROM t ORDER BY a LIMIT 3)", []),
    ],
)
def test_the_order_of_a_result(query: str, order: list[str]) -> None:
    table = "CREATE TABLE t (a INT, b INT) WITH ('connector' = 'datagen', 'number-of-rows' = '9');"
    [job] = compile_script(SourceText("s", f"{table} {query};"), {}, {}).jobs
    [root] = job.roots
    assert [str(column) for column in root.sorted_by] == order
