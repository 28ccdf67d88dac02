"""Any changelog, cut into any batches, folded, is the same SQL over the rows that are left."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.changelog import KIND
from millstream.kernels.aggregate import (
    AggregateOperator,
    Call,
    Function,
)
from millstream.kernels.segment_log import MemorySegmentLog, SegmentCache
from millstream.kernels.state_table import HASH, StateTable

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCHEMA = pa.schema(
    [
        ("region", pa.string()),
        ("user", pa.int64()),
        ("amount", pa.decimal128(38, 2)),
        ("weight", pa.float64()),
    ]
)
SPEC = AggregateOperator(
    ("region",),
    (
        Call("pv", Function.COUNT_STAR),
        Call("users", Function.COUNT, "user"),
        Call("uv", Function.COUNT, "user", distinct=True),
        Call("total", Function.SUM, "amount"),
        Call("distinct_total", Function.SUM, "amount", distinct=True),
        Call("user_sum", Function.SUM, "user"),
    ),
    SCHEMA,
)
TRUTH = """
    SELECT region, count(*), count("user"), count(DISTINCT "user"), sum(amount), sum(DISTINCT amount), sum("user")
    FROM rows GROUP BY region
"""

rows = st.tuples(
    st.sampled_from([None, "", "north", "south", "wüste"]),
    st.none() | st.integers(0, 5),
    st.none() | st.sampled_from([Decimal("0.10"), Decimal("-2.00"), Decimal("99.99")]),
    st.just(1.0),
)
# Each step inserts a row, or (True) takes back one that is there, chosen by the number.
changelogs = st.lists(st.tuples(rows, st.booleans(), st.integers(0, 1000), st.booleans()), max_size=40)


class Bench:
    """A kernel on an in-memory log, opened anew for each batch as Spark does."""

    def __init__(self, folder: Path, spec: AggregateOperator, *, colliding: bool) -> None:
        self._cache = SegmentCache(folder)
        self._logs: dict[str, MemorySegmentLog] = {}
        self._spec = spec
        self._colliding = colliding

    def step(self, batch: list[tuple[int, tuple[Any, ...]]]) -> list[dict[str, Any]]:
        table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for _, row in batch], schema=SCHEMA)
        kinds = pa.array([kind for kind, _ in batch], pa.int8())
        table = table.append_column(KIND, kinds).append_column(HASH, self._hash(table, ["region"]))
        for argument in self._spec.distinct_arguments:
            table = table.append_column(self._spec.value_hash(argument), self._hash(table, ["region", argument]))
        changes: list[dict[str, Any]] = self._spec.open(self._open).step(self._spec.combine(table)).to_pylist()
        return changes

    def _open(self, name: str, keys: tuple[pa.Field, ...], values: tuple[pa.Field, ...]) -> StateTable:
        return StateTable(keys, values, self._logs.setdefault(name, MemorySegmentLog()), self._cache)

    def _hash(self, table: pa.Table, columns: list[str]) -> pa.Array:
        spread = 2 if self._colliding else 1 << 62
        return pa.array(
            np.array([hash(tuple(row.values())) % spread for row in table.select(columns).to_pylist()], np.int64)
        )


def fold(table: dict[str | None, tuple[Any, ...]], changes: list[dict[str, Any]]) -> None:
    """Applies changes as a reader would, refusing any step that is not legal."""
    for change in changes:
        key = change["region"]
        values = tuple(value for name, value in change.items() if name not in ("region", KIND))
        match change[KIND]:
            case 0:
                assert key not in table, "+I of a key that is there"
                table[key] = values
            case 2:
                assert key in table, "+U of a key that is not there"
                assert table[key] != values, "+U that changes nothing"
                table[key] = values
            case 3:
                assert table.pop(key, None) is not None, "-D of a key that is not there"
            case other:
                raise AssertionError(other)


def truth(live: list[tuple[Any, ...]]) -> dict[str | None, tuple[Any, ...]]:
    rows = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in live], schema=SCHEMA)
    with duckdb.connect() as database:
        database.register("rows", rows)
        return {region: tuple(values) for region, *values in database.execute(TRUTH).fetchall()}


@settings(max_examples=300, deadline=None)
@given(changelog=changelogs, colliding=st.booleans())
def test_any_changelog_in_any_batches_folds_to_the_truth(
    tmp_path_factory: pytest.TempPathFactory,
    changelog: list[tuple[Any, bool, int, bool]],
    *,
    colliding: bool,
) -> None:
    bench = Bench(tmp_path_factory.mktemp("segments"), SPEC, colliding=colliding)
    live: list[tuple[Any, ...]] = []
    folded: dict[str | None, tuple[Any, ...]] = {}
    batch: list[tuple[int, tuple[Any, ...]]] = []
    for row, retract, choice, cut in changelog:
        if retract and live:
            batch.append((3, live.pop(choice % len(live))))
        else:
            live.append(row)
            batch.append((0, row))
        if cut:
            fold(folded, bench.step(batch))
            batch = []
    if batch:
        fold(folded, bench.step(batch))
    assert folded == truth(live)


def test_retraction_of_an_unknown_group_is_ignored(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SPEC, colliding=False)
    row = ("north", 1, Decimal("1.00"), 1.0)
    assert bench.step([(3, row)]) == []
    assert [change[KIND] for change in bench.step([(0, row)])] == [0]
    assert [change["pv"] for change in bench.step([(0, row)])] == [2]


def test_unchanged_value_emits_nothing(tmp_path: Path) -> None:
    spec = AggregateOperator(("region",), (Call("uv", Function.COUNT, "user", distinct=True),), SCHEMA)
    bench = Bench(tmp_path, spec, colliding=False)
    row = ("north", 1, None, 1.0)
    assert len(bench.step([(0, row)])) == 1
    assert bench.step([(0, row)]) == []
