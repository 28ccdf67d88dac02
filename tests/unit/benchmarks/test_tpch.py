"""TPC-H's changes are legal and keep the keys and distributions of its definition, and its queries compile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.comparison.script_workload import why_refused
from benchmarks.tpch import tables
from benchmarks.tpch.changes import generate_changes
from benchmarks.tpch.workloads import CHANGES, tpch_workloads

if TYPE_CHECKING:
    from benchmarks.comparison.workload import Workload

ROWS = 30_000
KEYS = {"-orders": ("o_orderkey",), "-lineitem": ("l_orderkey", "l_linenumber")}


@pytest.mark.parametrize("workload", tpch_workloads(), ids=lambda workload: workload.name)
def test_query_compiles(workload: Workload) -> None:
    assert why_refused(workload.text) is None


def test_each_change_has_the_row_that_is_there() -> None:
    current: dict[tuple[Any, ...], Any] = {}
    operations = {"c": 0, "u": 0, "d": 0}
    for part in generate_changes(ROWS):
        for value in part.values if part.topic in KEYS else ():
            change = json.loads(value or b"")
            row = change["after"] or change["before"]
            key = (part.topic, *(row[name] for name in KEYS[part.topic]))
            assert current.get(key) == change["before"]
            assert change["before"] != change["after"]
            current[key] = change["after"]
            operations[change["op"]] += 1
    left = {key for key, row in current.items() if row}
    orders = {key[1] for key in left if key[0] == "-orders"}
    assert {key[1] for key in left if key[0] == "-lineitem"} == orders
    assert operations["u"] > operations["c"] / 20
    assert operations["d"] > operations["c"] / 40


def test_changes_are_about_as_many_as_asked_for_and_always_the_same() -> None:
    parts = list(generate_changes(ROWS))
    assert sum(len(part.values) for part in parts) == pytest.approx(ROWS, rel=0.05)
    assert [part.values for part in parts] == [part.values for part in generate_changes(ROWS)]
    assert {part.topic for part in parts} == set(CHANGES.topics)


def test_changes_of_a_row_are_in_one_partition() -> None:
    places: dict[tuple[str, Any], set[int]] = {}
    for part in generate_changes(ROWS):
        for place, value in enumerate(part.values):
            row = json.loads(value or b"")
            row = row.get("after") or row.get("before") or row
            places.setdefault((part.topic, next(iter(row.values()))), set()).add(part.partitions[place])
    assert {len(found) for found in places.values()} == {1}


def test_keys_and_distributions() -> None:
    numbers = np.arange(100_000)
    drawn = tables.orders(numbers, 0, customers=10_000)
    assert drawn["o_orderkey"].head(9).to_list() == [1, 2, 3, 4, 5, 6, 7, 8, 33]
    assert drawn["o_custkey"].n_unique() == pytest.approx(6667, abs=10)
    assert (drawn["o_custkey"] % 3 == 0).sum() == 0
    assert drawn["o_custkey"].is_between(1, 10_000).all()
    assert str(drawn["o_orderdate"].min()) == "1992-01-01"
    assert tables.count_lines(numbers).mean() == pytest.approx(4, abs=0.02)
    lines = tables.line_items(numbers, np.zeros_like(numbers), 0, suppliers=100)
    days = (lines["l_shipdate"] - drawn["o_orderdate"]).dt.total_days()
    assert (days.min(), days.max()) == (1, 121)
    assert lines["l_suppkey"].n_unique() == 100
    assert lines["l_discount"].unique().sort().to_list() == [f"0.{percent:02}" for percent in range(11)]
    assert set(lines["l_returnflag"]) == {"A", "N", "R"}
