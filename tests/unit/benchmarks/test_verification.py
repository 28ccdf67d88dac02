"""Output counts only if it folds to the truth, and progress follows from the broker's times."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import fastavro
import polars as pl
import pytest

from benchmarks.comparison.output_topic import parse_messages
from benchmarks.comparison.verification import (
    AT,
    Progress,
    count_steps,
    find_difference,
    find_progress,
    find_steady_rate,
    fold,
)
from benchmarks.comparison.workload import Sink
from benchmarks.comparison.workloads import BY_NAME

SUMS = BY_NAME["sum_9"]
PASSED = BY_NAME["filter_project"]


@dataclass(frozen=True)
class Message:
    """The part of Kafka's message that is read."""

    text: bytes | None
    name: bytes | None = None
    place: int = 0
    at: int = 1000

    def value(self) -> bytes | None:
        return self.text

    def key(self) -> bytes | None:
        return self.name

    def offset(self) -> int:
        return self.place

    def timestamp(self) -> tuple[int, int]:
        return 2, self.at

    def error(self) -> None:
        return None


def sums(*rows: tuple[str, int | None, int]) -> pl.DataFrame:
    """Messages with a region, its count or None for a deletion, and a time."""
    messages: list[Any] = [
        Message(_sum(region, count) if count is not None else None, region.encode(), place, at)
        for place, (region, count, at) in enumerate(rows)
    ]
    return parse_messages(messages, SUMS.sink)


def _sum(region: str, count: int) -> bytes:
    return f'{{"user_region":"{region}","pv":{count},"pages":{10 * count}}}'.encode()


def test_last_message_of_a_key_counts() -> None:
    output = sums(("a", 1, 1), ("b", 1, 1), ("a", 3, 2), ("b", None, 2))
    assert fold(output, SUMS).rows() == [("a", 3, 30)]


def test_difference_names_wrong_and_missing_rows() -> None:
    truth = pl.DataFrame({"user_region": ["a", "b"], "pv": [3, 1], "pages": [30, 10]})
    assert find_difference(sums(("a", 3, 1), ("b", 1, 1)), truth, SUMS) is None
    wrong = find_difference(sums(("a", 2, 1)), truth, SUMS)
    assert wrong
    assert "('a', 2, 20)" in wrong
    assert "('b', 1, 10)" in wrong


def test_row_that_comes_twice_is_a_difference() -> None:
    row = b'{"page_id":2,"user_id":10,"user_region":"A"}'
    truth = pl.DataFrame({"page_id": [2, 4], "user_id": [10, 20], "user_region": ["A", "B"]})
    twice: list[Any] = [Message(row, place=place) for place in range(2)]
    assert find_difference(parse_messages(twice, PASSED.sink), truth, PASSED)
    assert find_difference(parse_messages(twice[:1], PASSED.sink), truth.head(1), PASSED) is None


def test_pathways_differences_fold_in_the_order_of_its_times() -> None:
    row = '{{"user_region":"a","pv":{},"pages":{},"diff":{},"time":{}}}'
    changes = [row.format(1, 10, 1, 100), row.format(2, 20, 1, 102), row.format(1, 10, -1, 102)]
    messages: list[Any] = [Message(text.encode(), b"a", place) for place, text in enumerate(changes)]
    assert fold(parse_messages(messages, SUMS.sink), SUMS).rows() == [("a", 2, 20)]
    gone: list[Any] = [*messages, Message(row.format(2, 20, -1, 104).encode(), b"a", 3)]
    assert fold(parse_messages(gone, SUMS.sink), SUMS).rows() == []


def test_avro_is_read_in_the_columns_of_the_sink() -> None:
    sink = Sink((("n", "BIGINT"), ("at", "TIMESTAMP(3)"), ("text", "STRING")), format="avro")
    fields = [
        {"name": name, "type": ["null", kind]} for name, kind in (("n", "long"), ("at", "long"), ("text", "string"))
    ]
    written = io.BytesIO()
    schema = fastavro.parse_schema({"type": "record", "name": "x", "fields": fields})
    fastavro.schemaless_writer(written, schema, {"n": 7, "at": 1500, "text": "x"})
    messages: list[Any] = [Message(written.getvalue())]
    [(n, at, text, *_)] = parse_messages(messages, sink).rows()
    assert (n, at.timestamp() % 60, text) == (7, 1.5, "x")


def test_progress_is_the_part_of_the_last_counts() -> None:
    output = sums(("a", 1, 1000), ("b", 1, 1000), ("a", 5, 2000), ("b", None, 3000), ("b", 5, 4000))
    expected = [(1, 0.2), (2, 0.6), (3, 0.5), (4, 1)]
    assert find_progress(output, SUMS) == [Progress(at, part) for at, part in expected]


def test_progress_without_a_key_counts_rows() -> None:
    row = b'{"page_id":2,"user_id":10,"user_region":"A"}'
    messages: list[Any] = [Message(row, place=place, at=at) for place, at in enumerate((1000, 1000, 1000, 3000))]
    output = parse_messages(messages, PASSED.sink)
    assert find_progress(output, PASSED) == [Progress(1, 0.75), Progress(3, 1)]
    assert find_progress(output.clear(), PASSED) == []
    assert output[AT].to_list() == [1000, 1000, 1000, 3000]


def test_steady_rate_is_that_of_the_last_third() -> None:
    progress = [Progress(10, 0.1), Progress(11, 0.7), Progress(12, 0.8), Progress(14, 1)]
    assert find_steady_rate(progress, 1000) == pytest.approx(100)
    assert find_steady_rate([Progress(10, 1)], 1000) is None
    assert find_steady_rate([], 1000) is None


def test_bursts_are_separated_by_pauses() -> None:
    moments = [Progress(at, 0.5) for at in (1, 1.1, 2, 2.2, 9)]
    assert count_steps(moments) == 3
    assert count_steps([]) == 0
