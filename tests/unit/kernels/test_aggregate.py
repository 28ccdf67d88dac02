"""Any changelog, cut into any batches, folded, is the same aggregates over the rows that are left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import RowKind
from millstream.kernels.aggregate import Call
from tests.unit.kernels.aggregate_cases import (
    SCHEMA,
    batches,
    close,
    every_call,
    inserts,
    operator,
    run,
    steps,
)
from tests.unit.kernels.bench import Bench, Reader

if TYPE_CHECKING:
    from tests.unit.kernels.aggregate_cases import Step

CALLS = st.lists(st.sampled_from(every_call()), min_size=1, max_size=3)
STANDARD = (
    Call("pv", "COUNT(*)"),
    Call("users", "COUNT", "user"),
    Call("uv", "COUNT", "small", distinct=True),
    Call("keen_uv", "COUNT", "small", distinct=True, filter="keen"),
    Call("total", "SUM", "amount"),
    Call("distinct_total", "SUM", "amount", distinct=True),
    Call("least", "MIN", "word"),
    Call("greatest", "MAX", "weight"),
    Call("spread", "VAR_SAMP", "weight"),
    Call("third", "PERCENTILE", "weight", parameters=("0.3",)),
    Call("small_third", "PERCENTILE", "small", distinct=True, filter="keen", parameters=("0.3",)),
)
STANDARD_SQL = """
    SELECT region, count(*), count("user"), count(DISTINCT small), count(DISTINCT small) FILTER (keen),
           sum(amount), sum(DISTINCT amount), min(word), max(weight), var_samp(weight),
           quantile_cont(weight, 0.3), quantile_cont(DISTINCT small, 0.3) FILTER (keen)
    FROM rows GROUP BY region
"""


@given(
    drawn=steps,
    calls=CALLS,
    keys=st.sampled_from([("region",), ("region", "shift"), ("region", "user")]),
    emits_before=st.booleans(),
    colliding=st.booleans(),
    pieces=st.integers(1, 2),
)
def test_any_changelog_in_any_batches_folds_to_the_truth(
    drawn: list[Step],
    calls: list[Call],
    keys: tuple[str, ...],
    pieces: int,
    *,
    emits_before: bool,
    colliding: bool,
) -> None:
    spec = operator(calls, keys, emits_before=emits_before)
    run(spec, batches(drawn), colliding=colliding, pieces=pieces)


@given(drawn=steps, calls=CALLS, pieces=st.integers(1, 2))
def test_a_query_without_group_by_has_one_row_while_there_are_rows(
    drawn: list[Step], calls: list[Call], pieces: int
) -> None:
    known = [step for step in drawn if step[0] != "ghost"]
    run(operator(calls, ()), batches(known), colliding=False, pieces=pieces)


@given(drawn=inserts, calls=CALLS, pieces=st.integers(1, 3))
def test_inserts_alone_need_fewer_values_and_give_the_same(drawn: list[Step], calls: list[Call], pieces: int) -> None:
    spec = operator(calls, ("region",), insert_only=True)
    run(spec, batches(drawn), colliding=False, pieces=pieces)


@given(drawn=steps, colliding=st.booleans())
def test_standard_aggregates_agree_with_duckdb(drawn: list[Step], *, colliding: bool) -> None:
    spec = operator(list(STANDARD), ("region",))
    bench = Bench(spec, SCHEMA, colliding=colliding)
    reader = Reader(spec.keys, sees_before=False)
    live = []
    for batch in batches([step for step in drawn if step[0] != "ghost"]):
        reader.read(bench.step(batch))
        for kind, row in batch:
            if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                live.append(row)
            else:
                live.remove(row)
    rows = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in live], schema=SCHEMA)
    with duckdb.connect() as database:
        database.register("rows", rows)
        truth = {row[:1]: row for row in database.execute(STANDARD_SQL).fetchall()}
    assert reader.table.keys() == truth.keys()
    for key, row in reader.table.items():
        assert all(close(*pair) for pair in zip(row, truth[key], strict=True)), (row, truth[key])
