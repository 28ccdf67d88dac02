"""Generated changes are legal, and messages say what the rows say."""

from __future__ import annotations

import json

import polars as pl
import pytest

from benchmarks.harness.datasets import (
    CHUNK,
    PARTITIONS,
    OrderChanges,
    generate_debezium,
    generate_page_views,
    generate_upserts,
)

ROWS = CHUNK + 1000


def test_changes_are_of_orders_that_exist() -> None:
    orders: dict[int, tuple[int, int]] = {}
    drawn = OrderChanges(1500)
    changes = [change for _ in range(3) for change in drawn.draw(500).iter_rows(named=True)]
    for change in changes:
        before = (change["before_customer"], change["before_amount"])
        match change["op"]:
            case "c":
                assert change["id"] not in orders
            case "u" | "d":
                assert orders.pop(change["id"]) == before
        if change["op"] != "d":
            orders[change["id"]] = (change["customer"], change["amount"])
    assert {change["op"] for change in changes} == {"c", "u", "d"}


def test_page_view_messages_have_the_columns_of_the_rows() -> None:
    [messages] = generate_page_views(10, 100)
    first = json.loads(messages.values[0] or b"")
    row = messages.rows.row(0, named=True)
    assert first == {**row, "viewtime": row["viewtime"].isoformat(" ", "milliseconds")}
    assert len(messages.values) == len(messages.partitions) == 100


def test_both_formats_tell_the_same_changes() -> None:
    debezium, upserts = list(generate_debezium(ROWS)), list(generate_upserts(ROWS))
    assert sum(len(part.values) for part in debezium) == ROWS
    events = [json.loads(value or b"") for part in debezium for value in part.values]
    values = [json.loads(value) if value else None for part in upserts for value in part.values]
    keys = [json.loads(key) for part in upserts for key in part.keys or []]
    assert [event["after"] for event in events] == values
    assert keys == [{"id": (event["after"] or event["before"])["id"]} for event in events]
    assert {event["op"] for event in events} == {"c", "u", "d"}


@pytest.mark.parametrize("generate", [generate_debezium, generate_upserts])
def test_all_changes_of_an_order_are_in_one_partition(generate: object) -> None:
    assert callable(generate)
    rows = pl.concat(part.rows.with_columns(partition=pl.Series(part.partitions)) for part in generate(ROWS))
    assert rows.group_by("id").agg(pl.col("partition").n_unique())["partition"].max() == 1
    assert rows["partition"].n_unique() == PARTITIONS
