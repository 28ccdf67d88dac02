"""Rows of files are numbered after their place, over batches and blocks."""

from __future__ import annotations

import pyarrow as pa

from millstream.spark.row_order import OrderInFiles


def test_rows_of_a_block_are_counted_over_batches() -> None:
    order = OrderInFiles()
    numbers = [order.of(pa.array(splits, pa.int64())).to_pylist() for splits in ([100, 100], [], [100, 700, 700], [64])]
    assert numbers == [[100, 101], [], [102, 700, 701], [64]]


def test_a_file_cut_otherwise_has_the_same_order() -> None:
    whole, cut = OrderInFiles(), OrderInFiles()
    in_one = whole.of(pa.array([0] * 6, pa.int64())).to_pylist()
    in_two = cut.of(pa.array([0, 0, 0, 640, 640, 640], pa.int64())).to_pylist()
    assert in_one == sorted(in_one)
    assert in_two == sorted(in_two)
