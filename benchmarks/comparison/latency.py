"""One workload on one system while rows come at a fixed rate: how long each takes to a reader of the results."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from benchmarks.comparison.figures import LatencyFigures
from benchmarks.harness.engines import EngineError, start_engine
from benchmarks.harness.input_topics import create_topic, delete_topic
from benchmarks.harness.paced_messages import read_in_background, send_in_background
from benchmarks.harness.processes import BROKER, HARNESS, measure_usage

if TYPE_CHECKING:
    from benchmarks.comparison.systems import System, Task
    from benchmarks.comparison.workload import Arrival, Workload
    from benchmarks.harness.dataset import Messages

ROWS_PER_SECOND: Final = 1000
_SECONDS: Final = 75
_LEFT_OUT_SECONDS: Final = 40
"""Starting, compiling and catching up."""
_PATIENCE_SECONDS: Final = 60
_GROUPLESS: Final = ""


class Arrivals:
    """When each input row was sent, and when a reader first saw a result that includes it."""

    def __init__(self, workload: Workload, arrival: Arrival, sent: pl.DataFrame) -> None:
        """`sent` are the rows in the order in which they are sent."""
        self._arrival = arrival
        if arrival.group:
            self._ordinals = sent.select(pl.int_range(1, pl.len() + 1).over(arrival.group)).to_series().to_list()
            self._groups: list[Any] = sent[arrival.group].to_list()
            self._expected = np.ones(sent.height, np.bool_)
        else:
            self._ordinals = sent[arrival.ordinal].to_list()
            self._groups = [_GROUPLESS] * sent.height
            assert workload.truth
            self._expected = sent[arrival.ordinal].is_in(workload.truth(sent)[arrival.ordinal].implode()).to_numpy()
        self._sent = np.full(sent.height, np.nan)
        self._seen: dict[Any, list[tuple[int, float]]] = {}

    def note_sent(self, number: int, at: float) -> None:
        self._sent[number] = at

    def note_value(self, at: float, value: bytes) -> None:
        row = json.loads(value)
        if row.get("diff", 1) > 0:
            group = row[self._arrival.group] if self._arrival.group else _GROUPLESS
            self._seen.setdefault(group, []).append((row[self._arrival.ordinal], at))

    def count_missing(self) -> int:
        return int(np.isnan(self._delays()[self._expected & ~np.isnan(self._sent)]).sum())

    def delays(self, since: float) -> np.ndarray:
        """In seconds, of the rows sent since then."""
        delays: np.ndarray = self._delays()[self._expected & (self._sent >= since)]
        return delays

    def _delays(self) -> np.ndarray:
        seen = {group: self._first_times(noted) for group, noted in self._seen.items()}
        at = [
            self._time_of(seen.get(group), ordinal) for group, ordinal in zip(self._groups, self._ordinals, strict=True)
        ]
        delays: np.ndarray = np.array(at) - self._sent
        return delays

    def _first_times(self, noted: list[tuple[int, float]]) -> dict[int, float] | tuple[np.ndarray, np.ndarray]:
        """By ordinal; of a group, the growing counts and when each was reached."""
        if not self._arrival.group:
            return dict(reversed(noted))
        counts = np.maximum.accumulate([count for count, _ in noted])
        return counts, np.array([at for _, at in noted])

    def _time_of(self, seen: dict[int, float] | tuple[np.ndarray, np.ndarray] | None, ordinal: int) -> float:
        match seen:
            case None:
                return float("nan")
            case dict():
                return seen.get(ordinal, float("nan"))
            case counts, times:
                place = int(np.searchsorted(counts, ordinal))
                return float(times[place]) if place < len(times) else float("nan")


def measure_latency(system: System, task: Task, messages: Messages) -> LatencyFigures:
    """Raises EngineError if the system ends by itself, or does not deliver all rows."""
    assert task.workload.arrival
    task.folder.mkdir(parents=True)
    for topic in (task.source, task.output):
        create_topic(task.brokers, topic)
    arrivals = Arrivals(task.workload, task.workload.arrival, messages.rows)

    def value_of(number: int, now: float) -> bytes | None:
        if number == len(messages.values):
            return None
        arrivals.note_sent(number, now)
        return messages.values[number]

    with (
        start_engine(system.command(task), task.folder) as run,
        send_in_background(task.brokers, task.source, ROWS_PER_SECOND, value_of) as sending,
        read_in_background(task.brokers, task.output, arrivals.note_value),
    ):
        time.sleep(_LEFT_OUT_SECONDS)
        counted_from, before = time.time(), measure_usage()
        while sending.is_alive():
            run.check()
            time.sleep(0.5)
        after, give_up = measure_usage(), time.monotonic() + _PATIENCE_SECONDS
        while (missing := arrivals.count_missing()) and time.monotonic() < give_up:
            run.check()
            time.sleep(0.5)
        if missing:
            raise EngineError(f"{missing:,} of {len(messages.values):,} rows never arrived\n{run.last_lines()}")
    for topic in (task.source, task.output):
        delete_topic(task.brokers, topic)
    p50, p99 = np.percentile(arrivals.delays(counted_from), (50, 99))
    seconds = after.at - before.at
    used = sum(spent for role, spent in after.since(before).items() if role not in {BROKER, HARNESS})
    others = after.others_since(before)
    return LatencyFigures(ROWS_PER_SECOND, 1000 * p50, 1000 * p99, used / seconds, others / seconds)


def number_of_rows() -> int:
    return _SECONDS * ROWS_PER_SECOND
