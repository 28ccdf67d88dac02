"""Workloads that are whole scripts, and what Flink wrote as their expected result."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from benchmarks.comparison.output_topic import parse_messages
from benchmarks.comparison.references import References
from benchmarks.comparison.script_workload import find_sink, read_title, why_refused
from benchmarks.comparison.verification import find_difference
from benchmarks.nexmark.workloads import nexmark_workloads, read_query

if TYPE_CHECKING:
    from pathlib import Path

WORKLOADS = {workload.name: workload for workload in nexmark_workloads()}


@dataclass(frozen=True)
class Message:
    text: bytes | None
    name: bytes | None
    place: int

    def value(self) -> bytes | None:
        return self.text

    def key(self) -> bytes | None:
        return self.name

    def offset(self) -> int:
        return self.place

    def timestamp(self) -> tuple[int, int]:
        return 2, 1000

    def error(self) -> None:
        return None


def written(query: str, *changes: tuple[str | None, dict[str, Any] | None]) -> pl.DataFrame:
    messages: list[Any] = [
        Message(json.dumps(row).encode() if row else None, key.encode() if key else None, place)
        for place, (key, row) in enumerate(changes)
    ]
    return parse_messages(messages, WORKLOADS[query].sink)


def test_sink_is_that_of_the_script() -> None:
    sink = find_sink(read_query("q4"))
    assert (sink.columns, sink.key) == ((("id", "BIGINT"), ("final", "BIGINT")), ("id",))
    assert find_sink(read_query("q1")).columns[2] == ("price", "DECIMAL(23, 3)")
    assert find_sink(read_query("q1")).key == ()


def test_title_is_the_beginning_of_the_first_line() -> None:
    assert read_title("-- Winning bids: the highest.\nSELECT 1") == "winning bids"


def test_script_that_is_refused_tells_why() -> None:
    assert why_refused(read_query("q0")) is None
    assert why_refused(f"{read_query('q0')} INSERT INTO results SELECT nothing FROM bid;") is not None


def test_script_names_topics_and_folder(tmp_path: Path) -> None:
    script = WORKLOADS["q13"].script("host:1", "events-7", "out-7", tmp_path)
    assert "'topic' = 'events-7'" in script
    assert "'topic' = 'out-7'" in script
    assert f"'path' = '{tmp_path}/side_input'" in script
    assert "${" not in script


def test_upserts_are_folded_before_they_are_compared() -> None:
    truth = pl.DataFrame({"id": [1, 2], "final": [10, 20]})
    rows = [("1", {"id": 1, "final": 5}), ("2", {"id": 2, "final": 20}), ("3", {"id": 3, "final": 1})]
    changed = written("q4", *rows, ("1", {"id": 1, "final": 10}), ("3", None))
    assert find_difference(changed, truth, WORKLOADS["q4"]) is None
    assert find_difference(written("q4", *rows), truth, WORKLOADS["q4"])


def test_rows_are_compared_as_often_as_they_come() -> None:
    truth = pl.DataFrame({"auction": [1, 1, 2], "price": [7, 7, 9]})
    rows = [(None, {"auction": 2, "price": 9}), (None, {"auction": 1, "price": 7})]
    assert find_difference(written("q2", *rows, rows[1]), truth, WORKLOADS["q2"]) is None
    assert find_difference(written("q2", *rows), truth, WORKLOADS["q2"])


def test_reference_is_of_one_script_and_number_of_rows(tmp_path: Path) -> None:
    references, workload = References(tmp_path / "references"), WORKLOADS["q2"]
    table = pl.DataFrame({"auction": [1], "price": [7]})
    assert references.find(workload, 100) is None
    references.keep(workload, 100, table)
    found = References(tmp_path / "references").find(workload, 100)
    assert found is not None
    assert found.equals(table)
    assert references.find(workload, 200) is None
    assert references.find(replace(workload, text=f"{workload.text} "), 100) is None
