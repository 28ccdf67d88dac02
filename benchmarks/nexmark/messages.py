"""Events as the messages of one topic: JSON with the kind of the event and one row of three that is not null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from benchmarks.harness.dataset import Messages
from benchmarks.harness.datasets import PARTITIONS
from benchmarks.nexmark.events import CHUNK, Events, draw_events

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS: Final = ("person", "auction", "bid")
_NUMBER: Final = "number"


def generate_messages(rows: int) -> Iterator[Messages]:
    """In the order of the events."""
    for first in range(0, rows, CHUNK):
        events = draw_events(first, min(CHUNK, rows - first))
        yield Messages(pl.DataFrame(), None, encode(events), find_partitions(events))


def encode(events: Events) -> list[bytes | None]:
    """In the order of the events."""
    tables = (events.person, events.auction, events.bid)
    encoded = [
        table.select(_NUMBER, _message(table.drop(_NUMBER), kind).cast(pl.Binary).alias("value"))
        for kind, table in enumerate(tables)
    ]
    return pl.concat(encoded).sort(_NUMBER)["value"].to_list()


def find_partitions(events: Events) -> list[int]:
    """All events of an auction are in one partition, so that the order in which they arrive is the same everywhere.

    Of equal rows, the first of an auction ranks first: in any order, the queries would have several right results.
    """
    ids = ((events.person, "id"), (events.auction, "id"), (events.bid, "auction"))
    placed = [table.select(_NUMBER, pl.col(name).hash(seed=5) % PARTITIONS) for table, name in ids]
    return (
        pl.concat([table.rename({table.columns[1]: "partition"}) for table in placed])
        .sort(_NUMBER)["partition"]
        .to_list()
    )


def _message(table: pl.DataFrame, kind: int) -> pl.Expr:
    """No text of an event needs escaping."""
    parts: list[pl.Expr] = [pl.lit(f'{{"event_type":{kind}')]
    for place, name in enumerate(KINDS):
        if place != kind:
            parts.append(pl.lit(f',"{name}":null'))
            continue
        parts.append(pl.lit(f',"{name}":'))
        for column, (field, type_) in enumerate(table.schema.items()):
            quote = "" if type_ == pl.Int64 else '"'
            value = pl.col(field).dt.strftime("%Y-%m-%d %H:%M:%S%.3f") if type_ == pl.Datetime else pl.col(field)
            parts += [pl.lit(f'{"," if column else "{"}"{field}":{quote}'), value, pl.lit(quote)]
        parts.append(pl.lit("}"))
    return pl.concat_str(*parts, pl.lit("}"))
