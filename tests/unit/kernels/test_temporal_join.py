"""Any rows and versions in any order, cut into any batches: each row has the version of its time."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels import temporal_join_kernel
from millstream.kernels.join import JoinSide, PairCondition
from millstream.kernels.operator import LEFT, MAX_WATERMARK, RIGHT, BatchTime
from millstream.kernels.temporal_join import TemporalJoinOperator
from tests.unit.kernels.bench import Bench
from tests.unit.kernels.interval_model import EPOCH, milliseconds_of
from tests.unit.kernels.version_model import VersionModel
from tests.unit.tiny_segments import tiny_segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.unit.kernels.bench import Change, Row

INSERT, UB, UA, D = RowKind
SIDES = {
    name: pa.schema(
        [
            (f"{name}_ts", pa.timestamp("us")),
            (f"{name}_id", pa.int64()),
            (f"{name}_weight", pa.float64()),
            (f"{name}_note", pa.string()),
        ]
    )
    for name in (LEFT, RIGHT)
}
NOTE = 3
seconds = st.one_of(st.integers(0, 12), st.sampled_from([-3, -4, 250_000_000_000]))
times = st.one_of(st.builds(lambda each: EPOCH + timedelta(seconds=each), seconds), st.just(None))
ids = st.sampled_from([1, 1, 1, 2, -(2**63), None])
weights = st.sampled_from([0.5, 0.5, float("inf"), None])
rows: st.SearchStrategy[Row] = st.tuples(times, ids, weights, st.sampled_from(["x", "x", "y", None]))
changes: st.SearchStrategy[Change] = st.tuples(st.sampled_from([INSERT, UA, UA, UA, UB, D]), rows)
watermarks = st.one_of(st.none(), st.integers(-5, 14).map(lambda each: each * 1000), st.integers(0, 9999))
steps = st.lists(
    st.tuples(st.lists(rows, max_size=4), st.lists(changes, max_size=4), watermarks, st.integers(1, 3)),
    min_size=1,
    max_size=7,
)


def differ(pairs: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in pairs:
        yield batch.filter(pc.not_equal(batch.column("left_note"), batch.column("right_note")))


DIFFER = PairCondition(("left_note", "right_note"), differ)


def notes_differ(left: Row, right: Row) -> bool:
    return None not in (left[NOTE], right[NOTE]) and left[NOTE] != right[NOTE]


def operator(keys: int, *, keeps_left: bool, condition: PairCondition | None = None) -> TemporalJoinOperator:
    left, right = (JoinSide(schema, tuple(schema.names[1 : 1 + keys])) for schema in SIDES.values())
    return TemporalJoinOperator(left, right, ("left_ts", "right_ts"), keeps_left, condition)


class Follower:
    """Steps a kernel from watermark to watermark."""

    def __init__(self, spec: TemporalJoinOperator, *, colliding: bool = False) -> None:
        self.bench = Bench(spec, SIDES, colliding=colliding, buckets=2)
        self.watermark: int | None = None

    def step(
        self, arrived: Sequence[Row], came: Sequence[Change], watermark: int | None, pieces: int = 1
    ) -> Counter[Row]:
        before = self.watermark
        self.watermark = max((time for time in (before, watermark) if time is not None), default=None)
        self.bench.time = BatchTime(0, self.watermark, before)
        found = self.bench.step_inputs({LEFT: [(INSERT, row) for row in arrived], RIGHT: came}, pieces=pieces)
        assert all(row.pop(KIND) == INSERT for row in found)
        return Counter(tuple(row.values()) for row in found)


@given(
    drawn=steps,
    keys=st.integers(1, 2),
    has_condition=st.booleans(),
    keeps_left=st.booleans(),
    colliding=st.booleans(),
    largest=st.sampled_from([1, 2, 1 << 17]),
)
def test_any_rows_find_their_versions_as_in_the_model(
    drawn: list[Any], keys: int, largest: int, *, has_condition: bool, keeps_left: bool, colliding: bool
) -> None:
    """Late rows and late versions, too, however far the watermark jumps."""
    condition = DIFFER if has_condition and keeps_left else None
    followed = Follower(operator(keys, keeps_left=keeps_left, condition=condition), colliding=colliding)
    model = VersionModel(keys, keeps_left, notes_differ if condition else lambda _, __: True)
    with pytest.MonkeyPatch.context() as small, tiny_segments():
        small.setattr(temporal_join_kernel, "LARGEST_TABLE", largest)
        for arrived, came, watermark, pieces in [*drawn, ([], [], MAX_WATERMARK, 1)]:
            before = followed.watermark
            found = followed.step(arrived, came, watermark, pieces)
            assert found == model.step(arrived, came, before, followed.watermark)
            assert followed.bench.late == model.late


@given(
    drawn=st.lists(st.tuples(st.booleans(), rows, st.booleans(), st.integers(0, 3), st.booleans()), max_size=30),
    keeps_left=st.booleans(),
    delay=st.integers(0, 4),
)
def test_without_late_rows_it_is_the_join_as_of(drawn: list[Any], delay: int, *, keeps_left: bool) -> None:
    """Out of order by as much as the watermark lags behind, as DuckDB joins them; versions are in order per key."""
    followed = Follower(operator(1, keeps_left=keeps_left))
    arrived: list[Row] = []
    came: list[Change] = []
    left: list[Row] = []
    right: list[Change] = []
    given_: Counter[Row] = Counter()
    for highest, (is_left, row, is_deletion, back, cut) in enumerate(drawn):
        moved = (EPOCH + timedelta(seconds=max(highest - (min(back, delay) if is_left else 0), 0)), *row[1:])
        if is_left:
            arrived.append(moved)
            left.append(moved)
        else:
            came.append((D if is_deletion else UA, moved))
            right.append(came[-1])
        if cut:
            given_ += followed.step(arrived, came, (highest - delay) * 1000)
            arrived, came = [], []
    given_ += followed.step(arrived, came, MAX_WATERMARK)
    assert followed.bench.late == 0
    assert given_ == joined_as_of(left, right, keeps_left=keeps_left)


def joined_as_of(left: list[Row], right: list[Change], *, keeps_left: bool) -> Counter[Row]:
    versions = SIDES[RIGHT].append(pa.field("deleted", pa.bool_()))
    with duckdb.connect() as database:
        database.register(
            "l", pa.Table.from_pylist([dict(zip(SIDES[LEFT].names, row, strict=True)) for row in left], SIDES[LEFT])
        )
        named = [dict(zip(versions.names, (*row, kind is D), strict=True)) for kind, row in right]
        database.register("r", pa.Table.from_pylist(named, versions))
        columns = ", ".join(f"CASE WHEN NOT deleted THEN {name} END AS {name}" for name in SIDES[RIGHT].names)
        word = "LEFT" if keeps_left else ""
        found = f"SELECT l.*, {columns} FROM l ASOF {word} JOIN r ON left_id = right_id AND left_ts >= right_ts"
        rows = database.execute(found + ("" if keeps_left else " WHERE NOT deleted")).fetchall()
    return Counter(rows)


def test_old_versions_and_rows_that_have_waited_are_gone() -> None:
    """An hour of changes of 50 keys: what is left are their last versions."""
    followed = Follower(operator(1, keeps_left=False))
    for batch in range(120):
        start = EPOCH + timedelta(seconds=batch * 30)
        moments = [start + timedelta(milliseconds=100 * each) for each in range(300)]
        followed.step(
            [(moment, number % 50, 0.5, "x") for number, moment in enumerate(moments)],
            [(UA, (moment, number % 50, 0.5, "y")) for number, moment in enumerate(moments)],
            milliseconds_of(start),
        )
        assert max(followed.bench.stored_rows().values()) < 300 * 5
    followed.step([], [], MAX_WATERMARK)
    stored = followed.bench.stored_rows()
    assert stored.pop(RIGHT) >= 50
    assert set(stored.values()) == {0}
    deletions = [(D, (None, key, None, None)) for key in range(50)]
    followed.step([], deletions, MAX_WATERMARK)


def test_a_key_that_is_deleted_leaves_nothing() -> None:
    followed = Follower(operator(1, keeps_left=False))
    with tiny_segments():
        for key in range(40):
            moment = EPOCH + timedelta(seconds=key)
            followed.step([], [(UA, (moment, key, 0.5, "x")), (D, (None, key, None, None))], milliseconds_of(moment))
        followed.step([], [], MAX_WATERMARK)
    assert sum(followed.bench.stored_rows().values()) < 10


def test_a_deletion_holds_from_its_own_time_if_it_has_one() -> None:
    followed = Follower(operator(1, keeps_left=True))

    def row(second: int, note: str) -> Row:
        return (EPOCH + timedelta(seconds=second), 1, 0.5, note)

    versions = [(INSERT, row(1, "first")), (D, row(5, "first"))]
    found = followed.step([row(4, "before"), row(6, "after")], versions, MAX_WATERMARK)
    nothing = (None,) * 4
    assert found == Counter([(*row(4, "before"), *row(1, "first")), (*row(6, "after"), *nothing)])
