"""The watermark of an operator, compared with what follows from all batches so far."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.kept_time import FOLDER, load_time, save_time
from millstream.kernels.watermark import OperatorTime, SplitTime
from millstream.state.bucket import BucketState
from millstream.state.storage import LocalStorage

if TYPE_CHECKING:
    from collections.abc import Sequence

SPLITS = ("rows:0", "rows:1", "rows:2")
times = st.none() | st.integers(0, 50)


class Batch(NamedTuple):
    now: int
    highest: dict[str, int | None]


batches = st.lists(
    st.builds(Batch, st.integers(0, 300), st.dictionaries(st.sampled_from(SPLITS), times)), min_size=1, max_size=12
)


def run(history: Sequence[Batch], awaited: Sequence[str] = (), idle_ms: int = 0) -> list[OperatorTime]:
    found = [OperatorTime()]
    for batch in history:
        found.append(found[-1].advance(batch.now, batch.highest, awaited=awaited, idle_ms=idle_ms))
    return found[1:]


class History:
    """Answers from all batches so far, where `OperatorTime` knows only what the last one left."""

    def __init__(self, history: Sequence[Batch], awaited: Sequence[str], idle_ms: int) -> None:
        self._nows = [max(batch.now for batch in history[: at + 1]) for at in range(len(history))]
        self._history = history
        self._awaited = awaited
        self._idle_ms = idle_ms

    def watermark(self) -> int | None:
        known = [least for at in range(len(self._history)) if (least := self._least(at)) is not None]
        return max(known, default=None)

    def _least(self, at: int) -> int | None:
        splits = {split for batch in self._history[: at + 1] for split in batch.highest} | set(self._awaited)
        reached = [self._highest(split, at) for split in splits if not self._is_idle(split, at)]
        known = [time for time in reached if time is not None]
        return min(known) if known and len(known) == len(reached) else None

    def _highest(self, split: str, at: int) -> int | None:
        found = [time for batch in self._history[: at + 1] if (time := batch.highest.get(split)) is not None]
        return max(found, default=None)

    def _is_idle(self, split: str, at: int) -> bool:
        last = max((place for place in range(at + 1) if split in self._history[place].highest), default=0)
        gaps = (self._nows[place] - self._nows[place - 1] for place in range(last + 1, at + 1))
        return self._idle_ms > 0 and sum(min(gap, self._idle_ms // 2) for gap in gaps) >= self._idle_ms


@given(history=batches, awaited=st.lists(st.sampled_from(SPLITS), unique=True), idle_ms=st.sampled_from([0, 2, 40]))
def test_it_follows_from_all_batches_so_far(history: list[Batch], awaited: list[str], idle_ms: int) -> None:
    found = run(history, awaited, idle_ms)
    for at, time in enumerate(found):
        assert time.watermark == History(history[: at + 1], awaited, idle_ms).watermark()
        assert time.now == max(batch.now for batch in history[: at + 1])


@given(history=batches, idle_ms=st.sampled_from([0, 2, 40]))
def test_neither_clock_goes_back(history: list[Batch], idle_ms: int) -> None:
    found = run(history, (), idle_ms)
    marks = [-1 if time.watermark is None else time.watermark for time in found]
    assert marks == sorted(marks)
    assert [time.now for time in found] == sorted(time.now or 0 for time in found)


@given(
    rows=st.lists(st.tuples(st.sampled_from(SPLITS), st.integers(0, 50)), min_size=1), cuts=st.sets(st.integers(0, 30))
)
def test_without_a_timeout_the_cut_into_batches_does_not_matter(rows: list[tuple[str, int]], cuts: set[int]) -> None:
    bounds = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    history = []
    for start, end in pairwise(bounds):
        highest: dict[str, int | None] = {}
        for split, time in rows[start:end]:
            highest[split] = max(time, highest.get(split) or 0)
        history.append(Batch(start, highest))
    reached = [max((time for split, time in rows if split == each), default=None) for each in SPLITS]
    known = [time for time in reached if time is not None]
    assert run(history, SPLITS)[-1].watermark == (min(known) if len(known) == len(SPLITS) else None)


@given(history=batches, idle_ms=st.sampled_from([0, 40]), starts=st.lists(st.booleans(), min_size=12, max_size=12))
def test_what_is_kept_survives_restarts_and_repeated_batches(
    tmp_path_factory: pytest.TempPathFactory, history: list[Batch], idle_ms: int, starts: list[bool]
) -> None:
    """A batch that is repeated starts from what the one before has left, not from its own first attempt."""
    storage = LocalStorage(tmp_path_factory.mktemp("state"))
    (tmp_path_factory.getbasetemp() / storage.locate("clock-1")).mkdir()
    expected = run(history, SPLITS, idle_ms)
    for number, (batch, is_repeated) in enumerate(zip(history, starts, strict=False)):
        for _ in range(2 if is_repeated else 1):
            state = BucketState(storage, f"clock-1/{FOLDER}", number, retained=3)
            before = load_time(state)
            assert before == (expected[number - 1] if number else OperatorTime())
            save_time(state, before.advance(batch.now, batch.highest, awaited=SPLITS, idle_ms=idle_ms))
            state.commit()


@pytest.mark.parametrize(
    ("idle_ms", "batch", "watermark"),
    [
        (0, Batch(10_000, {"rows:0": 90}), 50),
        (1000, Batch(1499, {"rows:0": 90}), 50),
        (1000, Batch(2500, {"rows:0": 90}), 50),
        (1000, Batch(1500, {}), 50),
    ],
    ids=["no timeout", "too early", "a long gap is half a timeout", "all are quiet"],
)
def test_a_quiet_split_holds_it_back(idle_ms: int, batch: Batch, watermark: int) -> None:
    time = OperatorTime(1000, 50, {"rows:0": SplitTime(60, 400), "rows:1": SplitTime(50, 400)})
    assert time.advance(batch.now, batch.highest, idle_ms=idle_ms).watermark == watermark


def test_time_goes_on_without_a_split_that_is_idle_and_waits_for_it_when_it_is_back() -> None:
    time = OperatorTime(1000, 50, {"rows:0": SplitTime(60, 0), "rows:1": SplitTime(50, 600)})
    time = time.advance(1400, {"rows:0": 90}, idle_ms=1000)
    assert time.watermark == 90
    time = time.advance(1401, {"rows:0": 95, "rows:1": 55}, idle_ms=1000)
    assert time.watermark == 90
    assert time.advance(1402, {"rows:1": 93}, idle_ms=1000).watermark == 93
