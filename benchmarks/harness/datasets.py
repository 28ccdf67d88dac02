"""The data that workloads read: page views, and the changelog of a table of orders in two formats."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from benchmarks.harness.dataset import Dataset, Messages
from benchmarks.harness.page_views import page_views

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTITIONS: Final = 4
CHUNK: Final = 10_000
CUSTOMERS: Final = 10_000
PAGE_VIEW_COLUMNS: Final = "user_id BIGINT, page_id BIGINT, viewtime TIMESTAMP(3), user_region STRING"
CREATE, UPDATE, DELETE = "c", "u", "d"
_ORDER_COLUMNS: Final = "id BIGINT, customer BIGINT, amount BIGINT"
_EARLIEST: Final = "'scan.startup.mode' = 'earliest-offset'"
_UPDATED, _DELETED = 0.3, 0.1
"""Parts of all changes; the others are new orders."""


def generate_page_views(users: int, rows: int) -> Iterator[Messages]:
    for first in range(0, rows, CHUNK):
        views = pl.DataFrame(page_views(min(CHUNK, rows - first), seed=first, users=users))
        yield encode_page_views(views)


def encode_page_views(views: pl.DataFrame) -> Messages:
    values = views.select(
        pl.concat_str(
            pl.lit('{"user_id":'),
            pl.col("user_id"),
            pl.lit(',"page_id":'),
            pl.col("page_id"),
            pl.lit(',"viewtime":"'),
            pl.col("viewtime").dt.strftime("%Y-%m-%d %H:%M:%S%.3f"),
            pl.lit('","user_region":"'),
            pl.col("user_region"),
            pl.lit('"}'),
        ).cast(pl.Binary)
    )
    return Messages(views, None, values.to_series().to_list(), [row % PARTITIONS for row in range(views.height)])


class OrderChanges:
    """New, updated and deleted orders; an update or deletion is of any order that was there before its chunk."""

    def __init__(self, rows: int) -> None:
        self._random = np.random.default_rng(11)
        self._customers = np.zeros(rows, np.int64)
        self._amounts = np.zeros(rows, np.int64)
        self._alive = np.zeros(rows, np.bool_)
        self._created = 0

    def draw(self, rows: int) -> pl.DataFrame:
        touched = self._existing(int(rows * (_UPDATED + _DELETED)))
        deleted = touched[: int(rows * _DELETED)]
        updated = touched[len(deleted) :]
        created = np.arange(self._created, self._created + rows - len(touched))
        ids = np.concatenate([created, updated, deleted])
        before_customers, before_amounts = self._customers[ids], self._amounts[ids]
        self._customers[ids] = self._random.integers(0, CUSTOMERS, rows)
        self._amounts[ids] = self._random.integers(1, 10_000, rows)
        self._alive[created] = True
        self._alive[deleted] = False
        self._created += len(created)
        changes = pl.DataFrame(
            {
                "op": [CREATE] * len(created) + [UPDATE] * len(updated) + [DELETE] * len(deleted),
                "id": ids,
                "customer": self._customers[ids],
                "amount": self._amounts[ids],
                "before_customer": before_customers,
                "before_amount": before_amounts,
            }
        )
        return changes[self._random.permutation(rows)]

    def _existing(self, number: int) -> np.ndarray:
        """So many different orders, or fewer while there are few."""
        if not self._created:
            return np.empty(0, np.int64)
        drawn = np.unique(self._random.integers(0, self._created, number))
        return self._random.permutation(drawn[self._alive[drawn]])


def generate_debezium(rows: int) -> Iterator[Messages]:
    before = _order("before_customer", "before_amount")
    after = _order("customer", "amount")
    null = pl.lit("null")
    value = pl.concat_str(
        pl.lit('{"before":'),
        pl.when(op=CREATE).then(null).otherwise(before),
        pl.lit(',"after":'),
        pl.when(op=DELETE).then(null).otherwise(after),
        pl.lit(',"op":"'),
        pl.col("op"),
        pl.lit('"}'),
    ).cast(pl.Binary)
    for changes in _changes(rows):
        yield Messages(changes, None, changes.select(value).to_series().to_list(), _partitions(changes))


def generate_upserts(rows: int) -> Iterator[Messages]:
    key = pl.concat_str(pl.lit('{"id":'), pl.col("id"), pl.lit("}")).cast(pl.Binary)
    value = pl.when(pl.col("op") != DELETE).then(_order("customer", "amount").cast(pl.Binary))
    for changes in _changes(rows):
        encoded = changes.select(key.alias("key"), value.alias("value"))
        yield Messages(changes, encoded["key"].to_list(), encoded["value"].to_list(), _partitions(changes))


def _changes(rows: int) -> Iterator[pl.DataFrame]:
    orders = OrderChanges(rows)
    for first in range(0, rows, CHUNK):
        yield orders.draw(min(CHUNK, rows - first))


def _order(customer: str, amount: str) -> pl.Expr:
    names = {'{"id":': "id", ',"customer":': customer, ',"amount":': amount}
    return pl.concat_str(
        *(part for text, column in names.items() for part in (pl.lit(text), pl.col(column))), pl.lit("}")
    )


def _partitions(changes: pl.DataFrame) -> list[int]:
    """All changes of an order are in one partition, in order."""
    return (changes["id"] % PARTITIONS).to_list()


def _page_views(name: str, users: int) -> Dataset:
    options = f"'connector' = 'kafka', 'format' = 'json', {_EARLIEST}"
    return Dataset(name, PAGE_VIEW_COLUMNS, options, partial(generate_page_views, users))


MANY_USERS: Final = _page_views("page views of 1 M users", 1_000_000)
FEW_PAIRS: Final = _page_views("page views of 222,222 users", 222_222)
MANY_PAIRS: Final = _page_views("page views of 2 M users", 2_000_000)
DEBEZIUM: Final = Dataset(
    "changes of orders, debezium-json",
    _ORDER_COLUMNS,
    f"'connector' = 'kafka', 'format' = 'debezium-json', {_EARLIEST}",
    generate_debezium,
)
UPSERTS: Final = Dataset(
    "changes of orders, upserts",
    f"{_ORDER_COLUMNS}, PRIMARY KEY (id) NOT ENFORCED",
    "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'",
    generate_upserts,
)
