"""Nexmark's events have the proportions and hot keys of the definition, and its queries compile."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from benchmarks.comparison.script_workload import why_refused
from benchmarks.nexmark.events import CHUNK, Events, draw_events
from benchmarks.nexmark.messages import KINDS, encode, find_partitions, generate_messages
from benchmarks.nexmark.workloads import EVENTS, nexmark_workloads

if TYPE_CHECKING:
    from benchmarks.comparison.workload import Workload

INCOMPARABLE = {"q6", "q12"}
"""Flink refuses the first, and of the second no two runs have the same result."""


@cache
def events() -> Events:
    """The third chunk, so that there are enough auctions and persons before it."""
    return draw_events(2 * CHUNK, CHUNK)


@pytest.mark.parametrize("workload", nexmark_workloads(), ids=lambda workload: workload.name)
def test_query_compiles(workload: Workload) -> None:
    assert why_refused(workload.text) is None
    assert ("millstream" in workload.cannot) == (workload.name in INCOMPARABLE)


def test_proportions_are_those_of_the_definition() -> None:
    drawn = events()
    assert [table.height for table in (drawn.person, drawn.auction, drawn.bid)] == [CHUNK // 50 * n for n in (1, 3, 46)]


def test_ids_are_counted_from_1000() -> None:
    first = draw_events(0, CHUNK)
    assert first.person["id"].to_list() == list(range(1000, 1000 + CHUNK // 50))
    assert first.auction["id"].to_list() == list(range(1000, 1000 + 3 * CHUNK // 50))


def test_events_are_100_microseconds_apart() -> None:
    drawn = events()
    times = pl.concat(table["dateTime"] for table in (drawn.person, drawn.auction, drawn.bid)).sort()
    assert (times[-1] - times[0]).total_seconds() == pytest.approx(CHUNK / 10_000, abs=0.002)


def test_half_of_the_bids_go_to_a_hot_auction() -> None:
    bids = events().bid
    hot = bids.filter((pl.col("auction") - 1000) % 100 == 0).height / bids.height
    assert hot == pytest.approx(0.5 + 0.5 * 0.01, abs=0.01)


def test_three_of_four_bidders_and_sellers_are_hot_and_not_the_same() -> None:
    drawn = events()
    bidders = drawn.bid.select(((pl.col("bidder") - 1000) % 100 == 1).mean()).item()
    sellers = drawn.auction.select(((pl.col("seller") - 1000) % 100 == 0).mean()).item()
    assert bidders == pytest.approx(0.7525, abs=0.01)
    assert sellers == pytest.approx(0.7525, abs=0.02)


def test_auctions_are_open_for_166_ms_on_average_and_no_longer_than_twice_that() -> None:
    auctions = events().auction
    lengths = (auctions["expires"] - auctions["dateTime"]).dt.total_milliseconds()
    assert lengths.min() >= 1  # type: ignore[operator]
    assert lengths.max() <= 332  # type: ignore[operator]
    assert lengths.mean() == pytest.approx(166, abs=6)


def test_bids_refer_to_auctions_in_flight() -> None:
    bids = events().bid.select(newest=pl.col("number") // 50 * 3 + 2, auction=pl.col("auction") - 1000)
    ahead = bids.select((pl.col("auction") - pl.col("newest")).alias("ahead"))["ahead"]
    assert ahead.max() == 10
    assert ahead.min() == -100


def test_average_sizes_are_those_of_the_definition() -> None:
    drawn = events()
    sizes = [
        (drawn.person, 8, ["name", "emailAddress", "creditCard", "city", "state", "extra"], 200),
        (drawn.auction, 48, ["itemName", "description", "extra"], 500),
        (drawn.bid, 32, ["extra"], 100),
    ]
    for table, fixed, texts, expected in sizes:
        found = fixed + table.select(pl.sum_horizontal(pl.col(texts).str.len_bytes()).mean()).item()
        assert found == pytest.approx(expected, rel=0.03)


def test_messages_are_the_events_in_order_and_always_the_same() -> None:
    [first, second] = generate_messages(CHUNK + 100)
    [again, _] = generate_messages(2 * CHUNK)
    assert first.values == again.values
    assert len(second.values) == 100
    rows: list[dict[str, Any]] = [json.loads(value or b"") for value in first.values]
    assert Counter(row["event_type"] for row in rows) == Counter(
        {0: CHUNK // 50, 1: 3 * CHUNK // 50, 2: 46 * CHUNK // 50}
    )
    times = []
    for row in rows:
        [present] = [row[kind] for kind in KINDS if row[kind] is not None]
        assert present is row[KINDS[row["event_type"]]]
        times.append(present["dateTime"])
    assert times == sorted(times)
    assert EVENTS.fingerprint(CHUNK) == EVENTS.fingerprint(2 * CHUNK)


def test_events_of_an_auction_are_in_one_partition() -> None:
    rows = [json.loads(value or b"") for value in encode(events())]
    places: dict[int, set[int]] = {}
    for row, partition in zip(rows, find_partitions(events()), strict=True):
        if row["event_type"]:
            auction = row["bid"]["auction"] if row["bid"] else row["auction"]["id"]
            places.setdefault(auction, set()).add(partition)
    assert {len(found) for found in places.values()} == {1}
    shares = Counter(partition for [partition] in places.values())
    assert min(shares.values()) > 0.9 * len(places) / 4
