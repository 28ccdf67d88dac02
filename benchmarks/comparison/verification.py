"""What a system wrote, folded to a table and compared with the truth, and how far it was at which time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from benchmarks.comparison.workload import Workload

KEY: Final = "__key"
AT: Final = "__at"
ORDER: Final = "__order"
DELETED: Final = "__deleted"
OUTPUT_COLUMNS: Final = {KEY: pl.UInt64, AT: pl.Int64, ORDER: pl.Int64, DELETED: pl.Boolean}
"""Of every written message, beside the sink's columns: a hash of its key, the broker's time in milliseconds, its place
among the messages of its key, and whether it deletes the key."""
_SHOWN: Final = 3


class Progress(NamedTuple):
    at: float
    """In seconds."""
    part: float
    """Of all input rows, from 0 to 1."""


def fold(output: pl.DataFrame, workload: Workload) -> pl.DataFrame:
    """The table that the messages describe."""
    if workload.sink.key:
        output = output.sort(KEY, ORDER).unique(KEY, keep="last", maintain_order=True)
    return output.filter(~pl.col(DELETED)).select(workload.sink.names)


def find_difference(output: pl.DataFrame, truth: pl.DataFrame, workload: Workload) -> str | None:
    """What is wrong with the output; rows may come in any order, but each must come as often as in the truth."""
    found = fold(output, workload)
    expected = truth.select(workload.sink.names).cast(found.schema)
    if found.height == expected.height and _sorted_hashes(found).equals(_sorted_hashes(expected)):
        return None
    names = list(workload.sink.names)
    wrong = found.join(expected, on=names, how="anti", nulls_equal=True).head(_SHOWN).rows()
    missing = expected.join(found, on=names, how="anti", nulls_equal=True).head(_SHOWN).rows()
    return f"{found.height:,} rows instead of {expected.height:,}; not in the truth: {wrong}; missing: {missing}"


def find_progress(output: pl.DataFrame, workload: Workload) -> list[Progress]:
    """At each moment of the broker's clock at which messages arrived."""
    weight = pl.when(DELETED).then(0).otherwise(workload.progress)
    if workload.sink.key:
        weight = (weight - weight.shift(1, fill_value=0)).over(KEY, order_by=ORDER)
    added = output.select(AT, weight.alias("added")).group_by(AT).agg(pl.col("added").sum()).sort(AT)
    reached = added["added"].cum_sum()
    whole = reached[-1] if added.height else 0
    return [Progress(at / 1000, part / whole) for at, part in zip(added[AT], reached, strict=True)] if whole else []


def find_steady_rate(progress: list[Progress], rows: int) -> float | None:
    """Rows per second over the last third of the progress; None if it was made at one moment."""
    begin = next((moment for moment in progress if moment.part >= 2 / 3), None)
    if begin is None or progress[-1].at <= begin.at:
        return None
    return rows * (progress[-1].part - begin.part) / (progress[-1].at - begin.at)


def count_steps(progress: list[Progress], pause: float = 0.3) -> int:
    """How many bursts of messages there were, each after a pause: about the number of batches."""
    moments = [moment.at for moment in progress]
    return sum(after - before > pause for before, after in pairwise(moments)) + bool(moments)


def _sorted_hashes(rows: pl.DataFrame) -> pl.Series:
    return rows.hash_rows(seed=7).sort()
