"""Groups with so many values that their tables have several segments and pieces, against Polars over the rows left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.entries import ENTRY
from millstream.kernels.entry_sums import add_up
from millstream.kernels.hashing import hash_rows
from millstream.kernels.operator import ROWS, BatchTime
from millstream.state.memory import MemoryPieces
from millstream.state.state_table import StateTable, TimeToLive
from tests.unit.kernels.bench import Bench

if TYPE_CHECKING:
    from tests.unit.kernels.bench import Change

SCHEMA = pa.schema([("region", pa.string()), ("user", pa.int64()), ("a", pa.bool_()), ("b", pa.bool_())])
CALLS = (
    Call("pv", "COUNT(*)"),
    Call("uv", "COUNT", "user", distinct=True),
    Call("uv_a", "COUNT", "user", distinct=True, filter="a"),
    Call("uv_b", "COUNT", "user", distinct=True, filter="b"),
    Call("sum_b", "SUM", "user", distinct=True, filter="b"),
    Call("least", "MIN", "user"),
    Call("least_a", "MIN", "user", filter="a"),
)
BATCH = 20_000
TRUTH = [
    pl.len().cast(pl.Int64).alias("pv"),
    pl.col("user").n_unique().cast(pl.Int64).alias("uv"),
    pl.col("user").filter(pl.col("a")).n_unique().cast(pl.Int64).alias("uv_a"),
    pl.col("user").filter(pl.col("b")).n_unique().cast(pl.Int64).alias("uv_b"),
    pl.when(pl.col("b").any()).then(pl.col("user").filter(pl.col("b")).unique().sum()).alias("sum_b"),
    pl.col("user").min().alias("least"),
    pl.col("user").filter(pl.col("a")).min().alias("least_a"),
]


class Table:
    """The table that a kernel's changes make, from batches of rows."""

    def __init__(self, operator: AggregateOperator, piece_bytes: int) -> None:
        self._operator = operator
        self._piece_bytes = piece_bytes
        self.stores = {name: MemoryPieces() for name in operator.state_tables}
        self.groups: dict[str, tuple[object, ...]] = {}

    def step(self, rows: pl.DataFrame) -> None:
        batch = rows.to_arrow().cast(pa.schema([*SCHEMA, pa.field(KIND, pa.int8())]))
        for name, columns in self._operator.hashes(ROWS).items():
            hashes = hash_rows([batch.column(column) for column in columns], batch.num_rows)
            batch = batch.append_column(name, hashes)
        kernel = self._operator.open(self._open)
        for changes in kernel.step(self._operator.combine(ROWS, batch), BatchTime()).changes:
            for change in changes.to_pylist():
                region, kind = change.pop("region"), change.pop(KIND)
                self.groups.pop(region, None)
                if kind != RowKind.DELETE:
                    self.groups[region] = tuple(change.values())

    def _open(self, name: str) -> StateTable:
        spec = self._operator.state_tables[name]
        return StateTable(spec.keys, spec.values, self.stores[name], summed=spec.summed, piece_bytes=self._piece_bytes)


def draw(random: np.random.Generator) -> pl.DataFrame:
    """The last of the regions has few rows, and so comes and goes."""
    region = np.where(random.random(BATCH) < 0.0003, 3, random.integers(0, 3, BATCH))
    return pl.DataFrame(
        {
            "region": np.array(["north", "south", "east", "rare"])[region],
            "user": random.integers(0, 60_000, BATCH),
            "a": random.random(BATCH) < 0.3,
            "b": random.random(BATCH) < 0.6,
        }
    )


@pytest.mark.parametrize("insert_only", [True, False], ids=["inserts", "retractions"])
@pytest.mark.parametrize("piece_bytes", [200_000, 16 << 20], ids=["many pieces", "one piece"])
def test_values_by_the_ten_thousand(piece_bytes: int, *, insert_only: bool) -> None:
    random = np.random.default_rng(11)
    table = Table(AggregateOperator(("region",), CALLS, SCHEMA, insert_only=insert_only), piece_bytes)
    live = draw(random).clear()
    most_segments = most_pieces = 0
    for _ in range(12):
        comes = draw(random)
        goes = live.clear()
        if not insert_only:
            is_gone = (random.random(live.height) < 0.4) | (live["region"] == "rare").to_numpy()
            goes, live = live.filter(is_gone), live.filter(~is_gone)
        live = pl.concat([live, comes])
        kinds = [RowKind.INSERT] * comes.height + [RowKind.DELETE] * goes.height
        table.step(pl.concat([comes, goes]).with_columns(pl.Series(KIND, kinds, pl.Int8)))
        truth = live.group_by("region").agg(TRUTH)
        assert table.groups == {row[0]: row[1:] for row in truth.iter_rows()}
        manifests = [store.manifest() for store in table.stores.values()]
        most_segments = max(most_segments, *(len(manifest.segments) for manifest in manifests))
        most_pieces = max(most_pieces, *(len(segment.pieces) for each in manifests for segment in each.segments))
    assert most_segments > 1
    assert (most_pieces > 1) is (piece_bytes < BATCH * 40)


def test_calls_with_different_filters_share_a_table() -> None:
    for insert_only, kind in ((True, "set"), (False, "multiset")):
        operator = AggregateOperator(("region",), CALLS, SCHEMA, insert_only=insert_only)
        assert list(operator.state_tables) == ["groups", f"{kind}-0"]
        names = {field.name for field in operator.state_tables[f"{kind}-0"].keys}
        assert names == {"__id", "__value"}


def seen(*users: int) -> list[Change]:
    return [(RowKind.INSERT, ("north", user, True, None)) for user in users]


def test_a_value_that_is_seen_again_is_not_written_again() -> None:
    distinct = CALLS[1:4]
    bench = Bench(AggregateOperator(("region",), distinct, SCHEMA, insert_only=True), SCHEMA)
    bench.step(seen(1, 2))
    store = bench._stores[0, "set-0"]
    before = store.manifest()
    bench.step(seen(2, 1, 2))
    assert store.manifest() == before
    [change] = bench.step([(RowKind.INSERT, ("north", 1, False, True))])
    assert (change["uv"], change["uv_a"], change["uv_b"]) == (2, 2, 1)
    assert bench.stored_rows()["set-0"] == 2


def test_with_a_ttl_a_value_that_is_seen_again_stays() -> None:
    bench = Bench(AggregateOperator(("region",), CALLS[1:2], SCHEMA, insert_only=True, repeats=True), SCHEMA)
    for now, users, count in ((0, (1, 2), 2), (8, (1,), 2), (12, (1, 3), 3), (13, (2,), 4)):
        bench.ttl = TimeToLive(now, 10)
        [change] = bench.step(seen(*users))
        assert change["uv"] == count


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.none() | st.integers(0, 3), st.integers(-2, 2)))
)
def test_adding_up_is_a_group_by(rows: list[tuple[int, int, int | None, int]]) -> None:
    """Also where different entries have the same hash, in any order."""
    schema = {ENTRY: pl.Int64, "group": pl.Int64, "value": pl.Int64, "n": pl.Int64}
    frame = pl.DataFrame([(entry // 2, group, value, n) for entry, group, value, n in rows], schema, orient="row")
    frame = frame.with_columns((pl.col("group") % 2).alias(ENTRY), (pl.col("n") > 0).alias("some"))
    entry = ["group", "value"]
    truth = frame.group_by(ENTRY, *entry).agg(pl.col("n").sum(), pl.col("some").any())
    added = add_up(frame, entry, ["n", "some"]).select(truth.columns)
    assert sorted(added.rows(), key=repr) == sorted(truth.rows(), key=repr)
