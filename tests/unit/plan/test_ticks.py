"""How often a job must reach all of its state."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.catalog.durations import duration_text
from millstream.plan.physical.ticks import tick_interval


@pytest.mark.parametrize(
    ("waits", "interval"),
    [
        ([], None),
        ([timedelta(milliseconds=1)], timedelta(seconds=1)),
        ([timedelta(minutes=3)], timedelta(seconds=90)),
        ([timedelta(days=30)], timedelta(hours=1)),
        ([timedelta(days=30), timedelta(minutes=3)], timedelta(seconds=90)),
    ],
)
def test_twice_per_shortest_wait_within_bounds(waits: list[timedelta], interval: timedelta | None) -> None:
    assert tick_interval(waits) == interval


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(hours=1), "1 h"),
        (timedelta(seconds=90), "90 s"),
        (timedelta(milliseconds=1500), "1500 ms"),
        (timedelta(microseconds=1500), "1500 µs"),
        (timedelta(days=2), "2 d"),
    ],
)
def test_a_duration_is_written_in_its_largest_whole_unit(length: timedelta, text: str) -> None:
    assert duration_text(length) == text
