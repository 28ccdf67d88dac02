"""Nexmark's events by its public definition: persons who register, auctions that they open, and bids on them.

Of 50 events one is a person, three are auctions and 46 are bids. Half of the bids go to one hot auction of each
hundred, three of four bids come from one hot bidder of each hundred persons, and three of four auctions have a hot
seller. Events are 100 microseconds apart, in order, from a fixed time on; an auction is open for up to 333 ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from benchmarks.nexmark.random_texts import draw_fillings, draw_words

if TYPE_CHECKING:
    from collections.abc import Callable

PERSONS, AUCTIONS, BIDS = 1, 3, 46
EPOCH: Final = PERSONS + AUCTIONS + BIDS
CHUNK: Final = 1000 * EPOCH
_SEED: Final = 23
_BEGIN_MS: Final = 1_436_918_400_000
"""2015-07-15 00:00:00."""
_EVENTS_PER_MS: Final = 10
_FIRST_ID: Final = 1000
"""Of persons and auctions."""
_FIRST_CATEGORY: Final = 10
_CATEGORIES: Final = 5
_HOT: Final = 100
"""One hot person or auction of so many."""
_HOT_SELLERS, _HOT_AUCTIONS, _HOT_BIDDERS = 4, 2, 4
"""All but one of so many take the hot one."""
_IN_FLIGHT: Final = 100
_ACTIVE: Final = 1000
_LEAD: Final = 10
"""Ids ahead of the newest person or auction, so that an auction or bid may come before what it refers to."""
_LONGEST_MS: Final = 2 * (_IN_FLIGHT * EPOCH // AUCTIONS // _EVENTS_PER_MS)
_SIZES: Final = {"person": 200, "auction": 500, "bid": 100}
_STATES: Final = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES: Final = (
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
    *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
)
_FIRST_NAMES: Final = (
    *("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"),
)
_LAST_NAMES: Final = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_HOT_CHANNELS: Final = ("Google", "Facebook", "Baidu", "Apple")
_CHANNELS: Final = 10_000
_ONE_URL_WITHOUT_CHANNEL_IN: Final = 10
_NUMBER: Final = "number"
"""The column of every table with the number of the event, which is not part of the event."""


@dataclass(frozen=True, slots=True)
class Events:
    """A part of the stream as three tables, each with the `number` of its events in the stream."""

    person: pl.DataFrame
    auction: pl.DataFrame
    bid: pl.DataFrame


def draw_events(first: int, rows: int) -> Events:
    """Always the same for the same chunk; `first` is the number of the first event."""
    random = np.random.default_rng([_SEED, first])
    numbers = np.arange(first, first + rows)
    place = numbers % EPOCH
    is_auction = (place >= PERSONS) & (place < PERSONS + AUCTIONS)
    return Events(
        _draw_persons(random, numbers[place < PERSONS]),
        _draw_auctions(random, numbers[is_auction]),
        _draw_bids(random, numbers[place >= PERSONS + AUCTIONS]),
    )


def _draw_persons(random: np.random.Generator, numbers: np.ndarray) -> pl.DataFrame:
    rows = len(numbers)
    cards = random.integers(0, 10_000, (4, rows))
    people = pl.DataFrame(
        {
            "id": _newest_person(numbers) + _FIRST_ID,
            "name": _choose(random, _FIRST_NAMES, rows) + " " + _choose(random, _LAST_NAMES, rows),
            "emailAddress": draw_words(random, rows, 7) + "@" + draw_words(random, rows, 5) + ".com",
            "creditCard": pl.select(
                pl.concat_str([pl.Series(four).cast(pl.String).str.zfill(4) for four in cards], separator=" ")
            ).to_series(),
            "city": _choose(random, _CITIES, rows),
            "state": _choose(random, _STATES, rows),
            "dateTime": _time_of(numbers),
            _NUMBER: numbers,
        }
    )
    return _fill(random, people, "person", 8)


def _draw_auctions(random: np.random.Generator, numbers: np.ndarray) -> pl.DataFrame:
    rows = len(numbers)
    is_hot = random.integers(0, _HOT_SELLERS, rows) > 0
    hot = _newest_person(numbers) // _HOT * _HOT
    initial = _draw_prices(random, rows)
    length = 1 + random.integers(0, _LONGEST_MS, rows)
    auctions = pl.DataFrame(
        {
            "id": _newest_auction(numbers) + _FIRST_ID,
            "itemName": draw_words(random, rows, 20),
            "description": draw_words(random, rows, 100),
            "initialBid": initial,
            "reserve": initial + _draw_prices(random, rows),
            "dateTime": _time_of(numbers),
            "expires": _time_of(numbers + length * _EVENTS_PER_MS),
            "seller": np.where(is_hot, hot, _draw_person(random, numbers)) + _FIRST_ID,
            "category": _FIRST_CATEGORY + random.integers(0, _CATEGORIES, rows),
            _NUMBER: numbers,
        }
    )
    return _fill(random, auctions, "auction", 48)


def _draw_bids(random: np.random.Generator, numbers: np.ndarray) -> pl.DataFrame:
    rows = len(numbers)
    newest = _newest_auction(numbers)
    oldest = np.maximum(newest - _IN_FLIGHT, 0)
    auction = np.where(
        random.integers(0, _HOT_AUCTIONS, rows) > 0,
        newest // _HOT * _HOT,
        random.integers(oldest, newest + 1 + _LEAD),
    )
    # The second of a hundred persons, so that hot bidders are not hot sellers.
    hot = _newest_person(numbers) // _HOT * _HOT + 1
    bidder = np.where(random.integers(0, _HOT_BIDDERS, rows) > 0, hot, _draw_person(random, numbers))
    has_hot_channel = random.integers(0, 2, rows) > 0
    few, many = random.integers(0, len(_HOT_CHANNELS), rows), random.integers(0, _CHANNELS, rows)
    channel = np.where(has_hot_channel, few, many + len(_HOT_CHANNELS))
    bids = pl.DataFrame(
        {
            "auction": auction + _FIRST_ID,
            "bidder": bidder + _FIRST_ID,
            "price": _draw_prices(random, rows),
            "channel": _CHANNEL_NAMES.gather(channel),
            "url": _CHANNEL_URLS.gather(channel),
            "dateTime": _time_of(numbers),
            _NUMBER: numbers,
        }
    )
    return _fill(random, bids, "bid", 32)


def _newest_person(numbers: np.ndarray) -> np.ndarray:
    """Counted from 0."""
    newest: np.ndarray = numbers // EPOCH * PERSONS + np.minimum(numbers % EPOCH, PERSONS - 1)
    return newest


def _newest_auction(numbers: np.ndarray) -> np.ndarray:
    """Counted from 0; -1 before the first."""
    newest: np.ndarray = numbers // EPOCH * AUCTIONS + np.clip(numbers % EPOCH - PERSONS, -1, AUCTIONS - 1)
    return newest


def _draw_person(random: np.random.Generator, numbers: np.ndarray) -> np.ndarray:
    people = _newest_person(numbers) + 1
    active = np.minimum(people, _ACTIVE)
    drawn: np.ndarray = people - active + random.integers(0, active + _LEAD)
    return drawn


def _draw_prices(random: np.random.Generator, rows: int) -> np.ndarray:
    return np.round(10 ** (random.random(rows) * 6) * 100).astype(np.int64)


def _time_of(numbers: np.ndarray) -> pl.Series:
    return pl.Series(_BEGIN_MS + numbers // _EVENTS_PER_MS).cast(pl.Datetime("ms"))


def _choose(random: np.random.Generator, texts: tuple[str, ...], rows: int) -> pl.Series:
    return pl.Series(texts).gather(random.integers(0, len(texts), rows))


def _fill(random: np.random.Generator, rows: pl.DataFrame, kind: str, fixed: int) -> pl.DataFrame:
    """With an `extra` text that brings the average row to the size of its kind."""
    texts = [rows[name].str.len_bytes() for name in rows.columns if rows[name].dtype == pl.String]
    taken = fixed + (pl.DataFrame(texts).sum_horizontal() if kind != "bid" else pl.zeros(rows.height, eager=True))
    return rows.with_columns(draw_fillings(random, taken, _SIZES[kind]).alias("extra"))


def _draw_channels() -> tuple[pl.Series, pl.Series]:
    """The names and addresses of all channels, the hot ones first."""
    random = np.random.default_rng(_SEED)
    total = len(_HOT_CHANNELS) + _CHANNELS
    parts: list[pl.Series] = [draw_words(random, total, 5, "_") for _ in range(3)]
    url = "https://www.nexmark.com/" + parts[0] + "/" + parts[1] + "/" + parts[2] + "/item.htm?query=1"
    numbers = np.arange(_CHANNELS)
    has_id = np.concatenate(
        [np.zeros(len(_HOT_CHANNELS), bool), random.integers(0, _ONE_URL_WITHOUT_CHANNEL_IN, _CHANNELS) > 0]
    )
    ids = pl.Series(np.concatenate([np.zeros(len(_HOT_CHANNELS), np.int64), _reversed_bits(numbers)]))
    with_id = url + "&channel_id=" + ids.cast(pl.String)
    names = pl.Series([*_HOT_CHANNELS, *(f"channel-{number}" for number in numbers)])
    return names, pl.select(pl.when(pl.Series(has_id)).then(with_id).otherwise(url)).to_series()


def _reversed_bits(numbers: np.ndarray) -> np.ndarray:
    """The absolute value of each number's 32 bits in reverse, read as a signed number."""
    bits = np.unpackbits(numbers.astype(">u4").view(np.uint8).reshape(-1, 4), axis=1)[:, ::-1]
    return np.abs(np.packbits(bits, axis=1).view(">i4").reshape(-1).astype(np.int64))


_CHANNEL_NAMES, _CHANNEL_URLS = _draw_channels()
KINDS: Final[tuple[Callable[[Events], pl.DataFrame], ...]] = (
    lambda events: events.person,
    lambda events: events.auction,
    lambda events: events.bid,
)
