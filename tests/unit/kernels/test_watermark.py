"""The watermark of an operator, compared with a small model of Flink's rule that sees all batches so far."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.kept_time import FOLDER, load_time, save_time
from millstream.kernels.operator import MAX_WATERMARK
from millstream.kernels.watermark import OperatorTime, SplitReport, SplitTime, TimeSource
from millstream.state.bucket import BucketState
from millstream.state.storage import LocalStorage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TABLES = ("scan-1", "scan-2")
PARTITIONS = ("0", "1", "2")
LATER = SplitReport(90)
times = st.none() | st.integers(0, 50)


class Batch(NamedTuple):
    now: int
    rows: dict[tuple[str, str], int | None]
    """The highest watermark of the partitions with rows, by table and partition."""
    announced: tuple[str, ...] = ()
    """The tables of which this batch tells the partitions."""

    @property
    def reports(self) -> dict[str, SplitReport]:
        told = {f"{table}/{name}": SplitReport(is_active=False) for table in self.announced for name in PARTITIONS}
        return told | {f"{table}/{name}": SplitReport(time) for (table, name), time in self.rows.items()}


batches = st.lists(
    st.builds(
        Batch,
        st.integers(0, 300),
        st.dictionaries(st.tuples(st.sampled_from(TABLES), st.sampled_from(PARTITIONS)), times),
        st.lists(st.sampled_from(TABLES)).map(tuple),
    ),
    min_size=1,
    max_size=12,
)
timeouts = st.fixed_dictionaries({table: st.sampled_from([0, 2, 40]) for table in TABLES})


def sources_of(timeouts: Mapping[str, int]) -> list[TimeSource]:
    return [TimeSource(table, timeout) for table, timeout in timeouts.items()]


def run(history: Sequence[Batch], timeouts: Mapping[str, int]) -> list[OperatorTime]:
    found = [OperatorTime()]
    for batch in history:
        found.append(found[-1].advance(batch.now, batch.reports, sources_of(timeouts)))
    return found[1:]


class Flink:
    """Answers from all batches so far, where `OperatorTime` knows only what the last one has left.

    Flink's CombinedWatermarkStatus, once over the partitions of a table and once over the inputs of an operator: the
    least of those that are not idle, if it is beyond what was combined before.
    """

    def __init__(self, history: Sequence[Batch], timeouts: Mapping[str, int]) -> None:
        self._nows = [max(batch.now for batch in history[: at + 1]) for at in range(len(history))]
        self._history = history
        self._timeouts = timeouts

    def watermark(self, at: int) -> int | None:
        return _highest(self._least_of_tables(place) for place in range(at + 1))

    def _least_of_tables(self, at: int) -> int | None:
        active = [table for table in TABLES if any(not self._is_idle(table, one, at) for one in self._known(table, at))]
        return _least([self._watermark_of(table, at) for table in active])

    def _watermark_of(self, table: str, at: int) -> int | None:
        return _highest(self._least_of(table, place) for place in range(at + 1))

    def _least_of(self, table: str, at: int) -> int | None:
        active = [one for one in self._known(table, at) if not self._is_idle(table, one, at)]
        found = ([self._history[place].rows.get((table, one)) for place in range(at + 1)] for one in active)
        return _least([_highest(values) for values in found])

    def _known(self, table: str, at: int) -> set[str]:
        """One without a name until a partition is known."""
        seen = self._history[: at + 1]
        named = {name for batch in seen for (of, name) in batch.rows if of == table}
        told = set(PARTITIONS) if any(table in batch.announced for batch in seen) else set()
        return (named | told) or {""}

    def _is_idle(self, table: str, partition: str, at: int) -> bool:
        """Quiet since its last row, or since it is known."""
        timeout = self._timeouts[table]
        known = next(place for place in range(at + 1) if partition in self._known(table, place))
        since = max((place for place in range(at + 1) if (table, partition) in self._history[place].rows), default=None)
        first = (known if since is None else since) + 1
        gaps = (self._nows[place] - self._nows[place - 1] for place in range(first, at + 1))
        return timeout > 0 and sum(min(gap, timeout // 2) for gap in gaps) >= timeout


def _highest(times: object) -> int | None:
    return max((time for time in times if time is not None), default=None)  # type: ignore[attr-defined]


def _least(times: Sequence[int | None]) -> int | None:
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None


@given(history=batches, timeouts=timeouts)
def test_it_is_that_of_flink(history: list[Batch], timeouts: dict[str, int]) -> None:
    flink = Flink(history, timeouts)
    for at, time in enumerate(run(history, timeouts)):
        assert time.watermark == flink.watermark(at)
        assert time.now == max(batch.now for batch in history[: at + 1])


@given(history=batches, timeouts=timeouts)
def test_no_clock_goes_back(history: list[Batch], timeouts: dict[str, int]) -> None:
    found = run(history, timeouts)
    for clock in ([time.watermark for time in found], *([time.sources[table] for time in found] for table in TABLES)):
        marks = [-1 if time is None else time for time in clock]
        assert marks == sorted(marks)
    assert [time.now for time in found] == sorted(time.now or 0 for time in found)


@given(
    rows=st.lists(st.tuples(st.sampled_from(PARTITIONS), st.integers(0, 50)), min_size=1),
    cuts=st.sets(st.integers(0, 30)),
)
def test_without_a_timeout_the_cut_into_batches_does_not_matter(rows: list[tuple[str, int]], cuts: set[int]) -> None:
    bounds = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    history = []
    for start, end in pairwise(bounds):
        highest: dict[tuple[str, str], int | None] = {}
        for split, time in rows[start:end]:
            highest["scan-1", split] = max(time, highest.get(("scan-1", split)) or 0)
        history.append(Batch(start, highest, ("scan-1",)))
    reached = [max((time for split, time in rows if split == each), default=None) for each in PARTITIONS]
    assert run(history, {"scan-1": 0})[-1].watermark == _least(reached)


@given(history=batches, timeouts=timeouts, starts=st.lists(st.booleans(), min_size=12, max_size=12))
def test_what_is_kept_survives_restarts_and_repeated_batches(
    tmp_path_factory: pytest.TempPathFactory, history: list[Batch], timeouts: dict[str, int], starts: list[bool]
) -> None:
    """A batch that is repeated starts from what the one before has left, not from its own first attempt."""
    storage = LocalStorage(tmp_path_factory.mktemp("state"))
    (tmp_path_factory.getbasetemp() / storage.locate("clock-1")).mkdir()
    expected = run(history, timeouts)
    for number, (batch, is_repeated) in enumerate(zip(history, starts, strict=False)):
        for _ in range(2 if is_repeated else 1):
            state = BucketState(storage, f"clock-1/{FOLDER}", number, retained=3)
            before = load_time(state)
            assert before == (expected[number - 1] if number else OperatorTime())
            save_time(state, before.advance(batch.now, batch.reports, sources_of(timeouts)))
            state.commit()


@pytest.mark.parametrize(
    ("idle_ms", "now", "reports"),
    [
        (0, 10_000, {"scan-1/0": LATER}),
        (1000, 1499, {"scan-1/0": LATER}),
        (1000, 2500, {"scan-1/0": LATER}),
        (1000, 1500, {}),
    ],
    ids=["no timeout", "too early", "a long gap is half a timeout", "all are quiet"],
)
def test_a_quiet_split_holds_it_back(idle_ms: int, now: int, reports: dict[str, SplitReport]) -> None:
    splits = {"scan-1/0": SplitTime(60, 400), "scan-1/1": SplitTime(50, 400)}
    time = OperatorTime(1000, 50, {"scan-1": 50}, splits)
    assert time.advance(now, reports, [TimeSource("scan-1", idle_ms)]).watermark == 50


def test_time_goes_on_without_a_split_that_is_idle_and_waits_for_it_when_it_is_back() -> None:
    source = TimeSource("scan-1", 1000)
    splits = {"scan-1/0": SplitTime(60), "scan-1/1": SplitTime(50, 600)}
    time = OperatorTime(1000, 50, {"scan-1": 50}, splits)
    time = time.advance(1400, {"scan-1/0": LATER}, [source])
    assert time.watermark == 90
    time = time.advance(1401, {"scan-1/0": SplitReport(95), "scan-1/1": SplitReport(55)}, [source])
    assert time.watermark == 90
    assert time.advance(1402, {"scan-1/1": SplitReport(93)}, [source]).watermark == 93


def test_the_watermark_of_a_table_does_not_go_back_below_that_of_another() -> None:
    """A partition that wakes up far behind does not hold the operator back once more."""
    sources = [TimeSource("scan-1"), TimeSource("scan-2")]
    splits = {"scan-1/0": SplitTime(100), "scan-1/1": SplitTime(50, is_idle=True), "scan-2/0": SplitTime(80)}
    time = OperatorTime(1000, 80, {"scan-1": 100, "scan-2": 80}, splits)
    assert time.advance(1001, {"scan-1/1": SplitReport(60), "scan-2/0": LATER}, sources).watermark == 90


def test_an_operator_below_is_idle_as_soon_as_it_says_so() -> None:
    sources = [TimeSource("scan-1"), TimeSource("window-1", is_operator=True)]
    time = OperatorTime().advance(1000, {"scan-1/0": SplitReport(70), "window-1/": SplitReport(30)}, sources)
    assert time.watermark == 30
    time = time.advance(1001, {"window-1/": SplitReport(30, is_active=False)}, sources)
    assert time.watermark == 70
    time = time.advance(1002, {"scan-1/0": SplitReport(80)}, sources)
    assert time.watermark == 80
    assert time.advance(1003, {"window-1/": SplitReport(75), "scan-1/0": LATER}, sources).watermark == 80


def test_a_source_that_is_no_longer_there_is_forgotten() -> None:
    time = OperatorTime(1000, 50, {"scan-1": 50, "scan-2": 60}, {"scan-1/0": SplitTime(50), "scan-2/0": SplitTime(60)})
    time = time.advance(1001, {}, [TimeSource("scan-2")])
    assert (time.watermark, set(time.splits), set(time.sources)) == (60, {"scan-2/0"}, {"scan-2"})


def test_at_the_end_it_is_the_highest() -> None:
    time = OperatorTime().advance(1000, {}, [TimeSource("scan-1")], has_ended=True)
    assert time.watermark == MAX_WATERMARK
    assert time.advance(1001, {"scan-1/0": LATER}, [TimeSource("scan-1")]).watermark == MAX_WATERMARK
