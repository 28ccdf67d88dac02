"""One bucket of a join, opened for one batch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.changelog import KIND, RowKind
from millstream.kernels.changes import to_arrow
from millstream.kernels.operator import LEFT, RIGHT, StepResult
from millstream.kernels.row_counts import AFTER, BEFORE, RowCounts, sum_counts
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from millstream.kernels.join import JoinOperator
    from millstream.kernels.operator import BatchTime, OpenTable, Parts

_RIGHT: Final = "__right"
"""Prefix of the right row's counts beside those of the left row."""
_TIMES: Final = "__times"
_MATCHES: Final = "__matches"
_LARGEST_TABLE: Final = 1 << 17
"""Rows in one table of changes: a key with many rows on both sides may have more results than fit in memory."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """The rows of one side that concern a batch, with their columns and their counts before and after it."""

    written: pl.DataFrame
    others: pl.DataFrame
    """Unchanged rows, of the keys that the other side wrote."""

    def to(self, kind: RowKind) -> pl.DataFrame:
        """Written rows that may cause changes of this kind by themselves."""
        falls = kind is RowKind.DELETE
        return self.written.filter(pl.col(AFTER) <= pl.col(BEFORE) if falls else pl.col(AFTER) >= pl.col(BEFORE))


class JoinKernel:
    def __init__(self, spec: JoinOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._tables = {
            name: RowCounts(spec.side(name).columns, open_table(name), expires=spec.expires) for name in spec.inputs
        }

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        written = {name: table.apply(self._counts(name, parts)) for name, table in self._tables.items()}
        left = self._read(LEFT, written[LEFT].rows, written[RIGHT].rows[HASH])
        right = self._read(RIGHT, written[RIGHT].rows, written[LEFT].rows[HASH])
        for name, table in self._tables.items():
            table.write(written[name].rows)
        return StepResult(self._changes(left, right), sum(each.ignored for each in written.values()))

    def _read(self, name: str, written: pl.DataFrame, wanted: pl.Series) -> _Batch:
        others = self._tables[name].others(wanted, written)
        return _Batch(written.select(others.columns), others)

    def _counts(self, name: str, parts: Parts) -> pl.DataFrame:
        """What the batch adds to the counts of a side's rows, each row once."""
        rows = parts[name] if name in parts else self._spec.part_schema(name).empty_table()
        return sum_counts(pl.DataFrame(rows), self._spec.side(name).columns, keeps_zero=self._spec.expires)

    def _changes(self, left: _Batch, right: _Batch) -> Iterator[pa.Table]:
        """Each pair of rows is joined once per kind, so that its results need no folding."""
        for kind in (RowKind.DELETE, RowKind.INSERT):
            own, other = left.to(kind), right.to(kind)
            yield from self._changes_of(kind, own, right.others)
            yield from self._changes_of(kind, left.others, other)
            if own.height or other.height:
                yield from self._changes_of(kind, left.written, right.written)

    def _changes_of(self, kind: RowKind, left: pl.DataFrame, right: pl.DataFrame) -> Iterator[pa.Table]:
        left_keys, right_keys = list(self._spec.left.keys), list(self._spec.right.keys)
        right = right.rename({BEFORE: _RIGHT + BEFORE, AFTER: _RIGHT + AFTER})
        for left_rows, right_rows in _slices(left, left_keys, right, right_keys):
            pairs = _join(left_rows, left_keys, right_rows, right_keys)
            yield from self._repeat(pairs.with_columns(self._times(kind).alias(_TIMES)), kind)

    def _times(self, kind: RowKind) -> pl.Expr:
        """How often a pair of rows is in the result of this batch."""
        before = pl.col(BEFORE) * pl.col(_RIGHT + BEFORE)
        after = pl.col(AFTER) * pl.col(_RIGHT + AFTER)
        times = (before - after if kind is RowKind.DELETE else after - before).clip(0)
        if not self._spec.expires:
            return times
        return pl.when((before == after) & (after > 0)).then(1).otherwise(times)

    def _repeat(self, pairs: pl.DataFrame, kind: RowKind) -> Iterator[pa.Table]:
        places = np.repeat(np.arange(pairs.height), pairs[_TIMES].to_numpy())
        rows = pairs.with_columns(pl.lit(kind, dtype=pl.Int8).alias(KIND))
        for start in range(0, len(places), _LARGEST_TABLE):
            yield to_arrow(rows[places[start : start + _LARGEST_TABLE]], self._spec.output_schema)


def _slices(
    left: pl.DataFrame, left_keys: list[str], right: pl.DataFrame, right_keys: list[str]
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """What to join with what, so that all pairs are covered in portions that need little memory."""
    if not left.height or not right.height:
        return
    if left.height * right.height <= _LARGEST_TABLE:
        yield left, right
    elif left.height >= right.height:
        yield from ((rows, right) for rows in _slice(left, left_keys, right, right_keys))
    else:
        yield from ((left, rows) for rows in _slice(right, right_keys, left, left_keys))


def _slice(rows: pl.DataFrame, keys: list[str], others: pl.DataFrame, other_keys: list[str]) -> Iterator[pl.DataFrame]:
    """The rows that have partners, in slices with about as many results as a table of changes may have."""
    matches = others.group_by(other_keys).agg(pl.len().cast(pl.Int64).alias(_MATCHES))
    matched = _join(rows, keys, matches, other_keys)
    portions = (matched[_MATCHES].cum_sum().to_numpy() - 1) // _LARGEST_TABLE
    starts = np.flatnonzero(np.diff(portions, prepend=-1))
    for start, end in pairwise([*starts.tolist(), matched.height]):
        yield matched.slice(start, end - start).select(rows.columns)


def _join(left: pl.DataFrame, left_keys: list[str], right: pl.DataFrame, right_keys: list[str]) -> pl.DataFrame:
    """Pairs of equal keys, where NaN equals NaN: when it joins single rows, Polars does not consider two NaN equal."""
    return left.join(
        right,
        left_on=_comparable(left, left_keys),
        right_on=_comparable(right, right_keys),
        nulls_equal=True,
        coalesce=False,
    )


def _comparable(rows: pl.DataFrame, keys: list[str]) -> list[pl.Expr]:
    """No key is NULL, so NULL can represent NaN."""
    return [pl.col(key).fill_nan(None) if rows.schema[key].is_float() else pl.col(key) for key in keys]
