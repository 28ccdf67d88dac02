"""TPC-H as changes of tables: orders and lines are created, updated and deleted, customers move and change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from benchmarks.harness.dataset import Messages
from benchmarks.harness.datasets import CREATE, DELETE, PARTITIONS, UPDATE
from benchmarks.tpch import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK: Final = 5_000
"""Orders."""
_MESSAGES_PER_ORDER: Final = 6
LAG: Final = 20_000
"""Orders between the creation of one and its update, and again until it is deleted."""
UPDATED, CHANGED_LINES, DELETED, MOVED = 25, 10, 5, 20
"""Of a hundred orders, lines, orders and customers."""
_ORDERS, _LINES, _CUSTOMERS = "-orders", "-lineitem", "-customer"
TOPICS: Final = (_ORDERS, _LINES, _CUSTOMERS, "-supplier", "-nation", "-region")
_UPDATING, _CHANGING, _DELETING, _MOVING = 41, 42, 43, 44
"""Purposes of draws."""
_TEXTS: Final = (pl.String, pl.Date)
_NUMBERS_AS_TEXT: Final = {"o_totalprice", "l_extendedprice", "l_discount", "c_acctbal"}


def generate_changes(rows: int) -> Iterator[Messages]:
    """About so many messages in all topics: small tables first, then orders with their lines, and changes among them.

    A customer is there before most of its orders, but changes while they come.
    """
    number = max(rows // _MESSAGES_PER_ORDER, 1)
    customers = max(number // tables.ORDERS_PER_CUSTOMER, 3)
    suppliers = max(number // tables.ORDERS_PER_SUPPLIER, 1)
    yield _append(tables.regions(), "-region")
    yield _append(tables.nations(), "-nation")
    yield _append(tables.suppliers(suppliers), "-supplier")
    yield _upsert_customers(tables.customers(np.arange(customers), 0))
    lag = min(LAG, max(number // 4, 1))
    moving = np.arange(customers)[tables.is_chosen(np.arange(customers), MOVED, _MOVING)]
    for first in range(0, number + 2 * lag, _CHUNK):
        parts = (_between(first - age, first - age + _CHUNK, number) for age in (0, lag, 2 * lag))
        yield from _changes_of_orders(*parts, customers=customers, suppliers=suppliers)
        place, end = (min(at / number, 1) for at in (first, first + _CHUNK))
        moved = moving[int(place * len(moving)) : int(end * len(moving))]
        yield _upsert_customers(tables.customers(moved, 1))


def _between(first: int, end: int, number: int) -> np.ndarray:
    return np.arange(max(first, 0), max(min(end, number), 0))


def _changes_of_orders(
    created: np.ndarray, ripe: np.ndarray, old: np.ndarray, *, customers: int, suppliers: int
) -> Iterator[Messages]:
    updated = ripe[tables.is_chosen(ripe, UPDATED, _UPDATING)]
    deleted = old[tables.is_chosen(old, DELETED, _DELETING)]
    is_updated = tables.is_chosen(deleted, UPDATED, _UPDATING)

    def draw_orders(numbers: np.ndarray, version: int) -> pl.DataFrame:
        return tables.orders(numbers, version, customers)

    yield _debezium(_ORDERS, created, None, draw_orders(created, 0))
    yield _debezium(_ORDERS, updated, draw_orders(updated, 0), draw_orders(updated, 1))
    for version, numbers in enumerate((deleted[~is_updated], deleted[is_updated])):
        yield _debezium(_ORDERS, numbers, draw_orders(numbers, version), None)

    def draw_lines(numbers: np.ndarray, lines: np.ndarray, version: int) -> pl.DataFrame:
        return tables.line_items(numbers, lines, version, suppliers)

    yield _debezium(_LINES, _lines(created)[0], None, draw_lines(*_lines(created), 0))
    changing, changing_lines = _lines(ripe)
    chosen = _are_changed(changing, changing_lines)
    changing, changing_lines = changing[chosen], changing_lines[chosen]
    before, after = (draw_lines(changing, changing_lines, version) for version in (0, 1))
    yield _debezium(_LINES, changing, before, after)
    gone, gone_lines = _lines(deleted)
    changed = _are_changed(gone, gone_lines)
    for version, which in enumerate((~changed, changed)):
        yield _debezium(_LINES, gone[which], draw_lines(gone[which], gone_lines[which], version), None)


def _lines(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lines of orders: the number of the order of each, and its own."""
    counts = tables.count_lines(numbers)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(numbers, counts), np.arange(counts.sum()) - starts


def _are_changed(numbers: np.ndarray, lines: np.ndarray) -> np.ndarray:
    return tables.is_chosen(numbers * tables.MOST_LINES + lines, CHANGED_LINES, _CHANGING)


def _debezium(topic: str, numbers: np.ndarray, before: pl.DataFrame | None, after: pl.DataFrame | None) -> Messages:
    operation = CREATE if before is None else DELETE if after is None else UPDATE
    sides = [_objects(side) if side is not None else pl.Series(["null"] * len(numbers)) for side in (before, after)]
    frame = pl.DataFrame({"before": sides[0], "after": sides[1]}, schema={"before": pl.String, "after": pl.String})
    value = frame.select(
        pl.concat_str(
            pl.lit('{"before":'), "before", pl.lit(',"after":'), "after", pl.lit(f',"op":"{operation}"}}')
        ).cast(pl.Binary)
    )
    return Messages(pl.DataFrame(), None, value.to_series().to_list(), (numbers % PARTITIONS).tolist(), topic)


def _upsert_customers(rows: pl.DataFrame) -> Messages:
    keys = _objects(rows.select("c_custkey")).cast(pl.Binary).to_list()
    values = _objects(rows).cast(pl.Binary).to_list()
    return Messages(pl.DataFrame(), keys, values, (rows["c_custkey"] % PARTITIONS).to_list(), _CUSTOMERS)


def _append(rows: pl.DataFrame, topic: str) -> Messages:
    values = _objects(rows).cast(pl.Binary).to_list()
    return Messages(pl.DataFrame(), None, values, [place % PARTITIONS for place in range(rows.height)], topic)


def _objects(rows: pl.DataFrame) -> pl.Series:
    """JSON; no text here needs escaping."""
    parts: list[pl.Expr] = []
    for place, (name, type_) in enumerate(rows.schema.items()):
        quote = '"' if type_ in _TEXTS and name not in _NUMBERS_AS_TEXT else ""
        parts += [pl.lit(f'{"," if place else "{"}"{name}":{quote}'), pl.col(name).cast(pl.String), pl.lit(quote)]
    return rows.select(pl.concat_str(*parts, pl.lit("}"))).to_series()
