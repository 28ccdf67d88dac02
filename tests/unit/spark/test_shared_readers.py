"""Readers that share a pass: each has all batches, and what is posted arrives in its order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.plan.vectorised.evaluators import Literal
from millstream.spark.packets import post, unpack_posted
from millstream.spark.python_rows import filter_rows
from millstream.spark.shared_readers import in_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.spark.python_stage import Step


def batch(values: list[int | None]) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(values, pa.int64())})


def rename_step(name: str, *, gathers: bool) -> Step:
    """Gives each batch as it comes, or all of them at the end, under a name."""

    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for each in list(batches) if gathers else batches:
            yield each.rename_columns([name])

    return step


@given(st.lists(st.lists(st.integers(-9, 9)), max_size=6))
def test_every_reader_has_every_batch_in_order(batches: list[list[int]]) -> None:
    steps = [rename_step("a", gathers=False), rename_step("b", gathers=True), rename_step("c", gathers=False)]
    made = list(in_turns(steps)(iter([batch(list(values)) for values in batches])))
    for name in "abc":
        assert [each.column(0).to_pylist() for each in made if each.schema.names == [name]] == batches


def test_no_reader_gets_ahead_of_the_others() -> None:
    """Batches between those of two readers would be kept in memory."""
    given = 0

    def read() -> Iterator[pa.RecordBatch]:
        nonlocal given
        for given in range(1, 101):
            yield batch([given])

    none, every = (partial(filter_rows, Literal.of(passes, pa.bool_())) for passes in (False, True))
    for number, _ in enumerate(in_turns([none, every])(read())):
        assert given == number // 2 + 1


@given(st.lists(st.lists(st.none() | st.integers(-9, 9), min_size=1), max_size=6))
def test_posted_rows_arrive_in_their_order(batches: list[list[int | None]]) -> None:
    packets = list(post([batch(values) for values in batches], bucket=3))
    assert {bucket for each in packets for bucket in each.column("bucket").to_pylist()} <= {3}
    assert [each.column("n").to_pylist() for each in unpack_posted(iter(packets))] == batches
