"""Any rows in any order, cut into any batches: pairs within the interval, and rows alone once none may come."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.join_kinds import JoinKind
from millstream.kernels import pairs_in_time
from millstream.kernels.interval_join import IntervalJoinOperator, TimeBounds
from millstream.kernels.join import JoinSide, PairCondition
from millstream.kernels.operator import LEFT, MAX_WATERMARK, RIGHT, BatchTime
from tests.unit.kernels.bench import Bench
from tests.unit.kernels.interval_model import EPOCH, IntervalModel, milliseconds_of
from tests.unit.tiny_segments import tiny_segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.unit.kernels.bench import Row

KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)
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
KEYS = ((), (1,), (2,), (1, 2))
NOTE = 3
seconds = st.one_of(st.integers(0, 12), st.sampled_from([-3, -4, 250_000_000_000]))
times = st.one_of(st.builds(lambda each: EPOCH + timedelta(seconds=each), seconds), st.just(None))
rows: st.SearchStrategy[Row] = st.tuples(
    times,
    st.sampled_from([1, 1, 1, 2, -(2**63), None]),
    st.sampled_from([0.5, 0.5, float("inf"), None]),
    st.sampled_from(["x", "x", "y", None]),
)
offsets = st.sampled_from([-4000, -1000, -999, 0, 0, 1, 1000, 5000])
bounds = st.builds(TimeBounds, offsets, offsets)
watermarks = st.one_of(st.none(), st.integers(-5, 14).map(lambda each: each * 1000), st.integers(0, 9999))
steps = st.lists(
    st.tuples(st.lists(rows, max_size=4), st.lists(rows, max_size=4), watermarks, st.integers(1, 3)),
    min_size=1,
    max_size=7,
)


def differ(pairs: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in pairs:
        yield batch.filter(pc.not_equal(batch.column("left_note"), batch.column("right_note")))


DIFFER = PairCondition(("left_note", "right_note"), differ)


def notes_differ(left: Row, right: Row) -> bool:
    return None not in (left[NOTE], right[NOTE]) and left[NOTE] != right[NOTE]


def operator(
    kind: JoinKind, keys: Sequence[int], within: TimeBounds, condition: PairCondition | None = None
) -> IntervalJoinOperator:
    left, right = (JoinSide(schema, tuple(schema.names[place] for place in keys)) for schema in SIDES.values())
    return IntervalJoinOperator(left, right, within, ("left_ts", "right_ts"), kind, condition)


class Follower:
    """Steps a kernel from watermark to watermark."""

    def __init__(self, spec: IntervalJoinOperator, *, colliding: bool = False) -> None:
        self.bench = Bench(spec, SIDES, colliding=colliding, buckets=2)
        self.watermark: int | None = None

    def step(self, arrived: Mapping[str, Sequence[Row]], watermark: int | None, pieces: int = 1) -> Counter[Row]:
        before = self.watermark
        self.watermark = max((time for time in (before, watermark) if time is not None), default=None)
        self.bench.time = BatchTime(0, self.watermark, before)
        batches = {name: [(RowKind.INSERT, row) for row in rows] for name, rows in arrived.items()}
        found = self.bench.step_inputs(batches, pieces=pieces)
        assert all(row.pop(KIND) == RowKind.INSERT for row in found)
        return Counter(tuple(row.values()) for row in found)


@given(
    drawn=steps,
    kind=st.sampled_from(KINDS),
    keys=st.sampled_from(KEYS),
    within=bounds,
    has_condition=st.booleans(),
    colliding=st.booleans(),
    largest=st.sampled_from([1, 2, 1 << 17]),
)
def test_any_rows_come_together_as_in_the_model(
    drawn: list[Any],
    kind: JoinKind,
    keys: tuple[int, ...],
    within: TimeBounds,
    largest: int,
    *,
    has_condition: bool,
    colliding: bool,
) -> None:
    """Late rows, too, however far the watermark jumps."""
    condition = DIFFER if has_condition and kind is not JoinKind.INNER else None
    followed = Follower(operator(kind, keys, within, condition), colliding=colliding)
    model = IntervalModel(kind, within, keys, notes_differ if condition else lambda _, __: True)
    with pytest.MonkeyPatch.context() as small, tiny_segments():
        small.setattr(pairs_in_time, "LARGEST_TABLE", largest)
        for left, right, watermark, pieces in [*drawn, ([], [], MAX_WATERMARK, 1)]:
            before = followed.watermark
            arrived = {LEFT: left, RIGHT: right}
            found = followed.step(arrived, watermark, pieces)
            assert found == model.step(arrived, before, followed.watermark)
            assert followed.bench.late == model.late if condition is None else True


@given(
    drawn=st.lists(st.tuples(st.sampled_from([LEFT, RIGHT]), rows, st.integers(0, 3), st.booleans()), max_size=30),
    kind=st.sampled_from(KINDS),
    within=bounds,
    delay=st.integers(0, 4),
)
def test_without_late_rows_it_is_the_join(drawn: list[Any], kind: JoinKind, within: TimeBounds, delay: int) -> None:
    """Out of order by as much as the watermark lags behind, as DuckDB joins them."""
    followed = Follower(operator(kind, (1,), within))
    arrived: dict[str, list[Row]] = {LEFT: [], RIGHT: []}
    everything: dict[str, list[Row]] = {LEFT: [], RIGHT: []}
    given_: Counter[Row] = Counter()
    highest = 0
    for name, row, back, cut in drawn:
        moved = row if row[0] is None else (EPOCH + timedelta(seconds=max(highest - min(back, delay), 0)), *row[1:])
        highest += 1 if row[0] is not None else 0
        arrived[name].append(moved)
        everything[name].append(moved)
        if cut:
            given_ += followed.step(arrived, (highest - delay - 1) * 1000)
            arrived = {LEFT: [], RIGHT: []}
    given_ += followed.step(arrived, MAX_WATERMARK)
    assert followed.bench.late == 0
    assert given_ == joined(everything, kind, within)


def joined(everything: Mapping[str, Sequence[Row]], kind: JoinKind, within: TimeBounds) -> Counter[Row]:
    with duckdb.connect() as database:
        for name, schema in SIDES.items():
            found = [dict(zip(schema.names, row, strict=True)) for row in everything[name]]
            database.register(name, pa.Table.from_pylist(found, schema=schema))
        on = f"left_id = right_id AND epoch_ms(left_ts) - epoch_ms(right_ts) BETWEEN {within.lower} AND {within.upper}"
        return Counter(database.execute(f'SELECT * FROM "left" {kind.value} JOIN "right" ON {on}').fetchall())


@pytest.mark.parametrize("kind", KINDS)
def test_state_is_gone_after_its_time(kind: JoinKind) -> None:
    """An hour of rows, in which at most two minutes wait: the state never has much more."""
    followed = Follower(operator(kind, (1,), TimeBounds(-60_000, 60_000)))
    most = 0
    for batch in range(120):
        start = EPOCH + timedelta(seconds=batch * 30)
        arrived = {
            name: [(start + timedelta(milliseconds=300 * each), batch * 100 + each, 0.5, name) for each in range(100)]
            for name in SIDES
        }
        followed.step(arrived, milliseconds_of(start))
        most = max(most, *followed.bench.stored_rows().values())
    assert most < 100 * (120 / 30 + 1) * 2.5
    followed.step({LEFT: [], RIGHT: []}, MAX_WATERMARK)
    assert set(followed.bench.stored_rows().values()) == {0}


def test_a_key_with_many_rows_is_searched_by_time() -> None:
    """Each of 20,000 rows of one key has two partners, in several tables of changes."""
    followed = Follower(operator(JoinKind.FULL, (1,), TimeBounds(0, 1000)))
    count = 20_000
    arrived = {
        name: [(EPOCH + timedelta(seconds=each), 1, 0.5, name) for each in range(count)] for name in (LEFT, RIGHT)
    }
    found = followed.step({LEFT: arrived[LEFT], RIGHT: []}, None) + followed.step(
        {LEFT: [], RIGHT: arrived[RIGHT]}, MAX_WATERMARK
    )
    assert found.total() == 2 * count - 1
    assert all(row[0] - row[4] in (timedelta(0), timedelta(seconds=1)) for row in found)


def test_what_comes_too_late_is_counted() -> None:
    followed = Follower(operator(JoinKind.LEFT, (1,), TimeBounds(0, 5000)))

    def row(second: int, note: str) -> Row:
        return (EPOCH + timedelta(seconds=second), 1, 0.5, note)

    followed.step({LEFT: [], RIGHT: [row(10, "waits until 15")]}, 12_000)
    found = followed.step({LEFT: [row(11, "late")], RIGHT: [row(3, "over")]}, 12_000)
    assert found == Counter([(*row(11, "late"), *row(10, "waits until 15"))])
    assert followed.bench.late == 1
    found = followed.step({LEFT: [row(2, "kept")], RIGHT: []}, 12_000)
    assert found == Counter([(*row(2, "kept"), None, None, None, None)])
    assert followed.bench.late == 1


def test_an_instant_counts_as_its_milliseconds() -> None:
    """What is finer is cut off, also before 1970."""
    times = pa.array([datetime(1969, 12, 31, 23, 59, 59, 999_999), None], pa.timestamp("us"))  # noqa: DTZ001
    spec = operator(JoinKind.INNER, (1,), TimeBounds(0, 0))
    batch = pa.table(
        {"__hash": [0, 0], "left_ts": times, "left_id": [1, 1], "left_weight": [0.5, 0.5], "left_note": ["", ""]}
    )
    [parts] = [spec.combine(LEFT, batch)]
    assert parts[LEFT].column("__time").to_pylist() == [-1]
