"""Every aggregate over windows: each group is emitted once, when its window has closed, and leaves nothing behind."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.operator import MAX_WATERMARK, BatchTime
from millstream.kernels.window_aggregate import WindowAggregateOperator
from tests.unit.kernels.aggregate_cases import SCHEMA as ROW
from tests.unit.kernels.aggregate_cases import batches, close, every_call, inserts, steps
from tests.unit.kernels.bench import Bench, Change, Row
from tests.unit.kernels.group_oracle import GroupOracle

if TYPE_CHECKING:
    from tests.unit.kernels.aggregate_cases import Step

CALLS = st.lists(st.sampled_from(every_call()), min_size=1, max_size=3)
END: Final = "window_end"
SCHEMA: Final = pa.schema([pa.field(END, pa.timestamp("us")), *ROW])
SECOND: Final = 1000


EPOCH: Final = pa.scalar(0, pa.timestamp("us")).as_py()


def at(seconds: int) -> datetime:
    moment: datetime = EPOCH + timedelta(seconds=seconds)
    return moment


def windowed(made: list[list[Change]], spread: int) -> list[list[Change]]:
    """The window of a row follows from its contents, so that a row goes where it has come from."""

    def end_of(row: Row) -> datetime:
        return at(1 + zlib.crc32(repr((row[0], row[2], row[3])).encode()) % spread)

    return [[(kind, (end_of(row), *row)) for kind, row in batch] for batch in made]


@given(
    drawn=st.one_of(steps, inserts),
    calls=CALLS,
    keys=st.sampled_from([(END,), (END, "region"), ("region", END, "user")]),
    spread=st.integers(1, 6),
    waits=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    colliding=st.booleans(),
)
def test_windows_of_any_aggregate(
    drawn: list[Step],
    calls: list[Call],
    keys: tuple[str, ...],
    spread: int,
    waits: list[int],
    *,
    colliding: bool,
) -> None:
    made = windowed(batches([step for step in drawn if step[0] != "ghost"]), spread)
    is_insert_only = all(kind is RowKind.INSERT for batch in made for kind, _ in batch)
    numbered = tuple(
        Call(f"c{n}", c.function, c.argument, c.distinct, c.filter, c.parameters) for n, c in enumerate(calls)
    )
    groups = AggregateOperator(keys, numbered, SCHEMA, insert_only=is_insert_only)
    bench = Bench(WindowAggregateOperator(groups, END), SCHEMA, colliding=colliding, buckets=2)
    open_: dict[Row, GroupOracle] = {}
    types = {field.name: field.type for field in SCHEMA}
    watermark: int | None = None
    late = 0
    for batch, wait in zip([*made, []], [*waits[: len(made)], 1], strict=True):
        before, is_last = watermark, not batch
        for kind, row in batch:
            record = dict(zip(SCHEMA.names, row, strict=True))
            key = tuple(record[name] for name in keys)
            if before is not None and record[END] <= at(before // SECOND):
                late += 1
                continue
            if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                open_.setdefault(key, GroupOracle(numbered)).insert(record)
            elif key in open_:
                open_[key].retract(record)
        if is_last:
            watermark = MAX_WATERMARK
        elif wait:
            watermark = ((before or 0) // SECOND + wait - 1) * SECOND
        bench.time = BatchTime(0, watermark, before)
        found = bench.step(batch, pieces=1 + spread % 2)
        place = keys.index(END)
        closed = [key for key in open_ if watermark is not None and (is_last or key[place] <= at(watermark // SECOND))]
        expected = {key: (*key, *group.results(types)) for key in closed if (group := open_.pop(key)).rows}
        images = [tuple(_frozen(value) for value in list(image.values())[:-1]) for image in found]
        assert all(image["__kind"] == RowKind.INSERT for image in found)
        assert {image[: len(keys)] for image in images} == expected.keys()
        assert len(images) == len(expected)
        for image in images:
            assert all(close(*pair) for pair in zip(image, expected[image[: len(keys)]], strict=True))
    assert not any(bench.stored_rows().values())
    if is_insert_only:
        assert bench.late == late


def _frozen(value: object) -> object:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
