"""Pairs of rows with equal keys, in portions that need little memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.changes import to_arrow
from millstream.kernels.row_counts import AFTER, BEFORE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from millstream.kernels.join import JoinOperator, PairCondition
    from millstream.kernels.portions import Portions

LEFT_PLACE: Final = "__left_place"
RIGHT_PLACE: Final = "__right_place"
"""Of the rows of a pair, each among the rows of its side."""
RIGHT_BEFORE: Final = "__right" + BEFORE
RIGHT_AFTER: Final = "__right" + AFTER
"""The right row's counts beside those of the left row."""
TIMES: Final = "__times"
"""How often a change is in the result of a batch."""
_MATCHES: Final = "__matches"
_PAIR: Final = "__pair"
_LARGEST_TABLE: Final = 1 << 17
"""Rows in one table of changes: a key with many rows on both sides may have more results than fit in memory."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of one side that concern a batch, with their columns and their counts before and after it."""

    written: pl.DataFrame
    others: Portions[pl.DataFrame]
    """Unchanged rows, of the keys that the other side wrote."""

    def to(self, kind: RowKind) -> pl.DataFrame:
        """Written rows that may cause changes of this kind by themselves."""
        falls = kind is RowKind.DELETE
        return self.written.filter(pl.col(AFTER) <= pl.col(BEFORE) if falls else pl.col(AFTER) >= pl.col(BEFORE))


class PairJoiner:
    def __init__(self, spec: JoinOperator) -> None:
        self._spec = spec

    def changes(self, kind: RowKind, left: Batch, right: Batch) -> Iterator[pa.Table]:
        """Each pair of rows is joined once per kind, so that its results need no folding."""
        own, other = left.to(kind), right.to(kind)
        for rows in right.others if own.height else ():
            yield from self._changes_of(kind, own, rows)
        for rows in left.others if other.height else ():
            yield from self._changes_of(kind, rows, other)
        if own.height or other.height:
            yield from self._changes_of(kind, left.written, right.written)

    def _changes_of(self, kind: RowKind, left: pl.DataFrame, right: pl.DataFrame) -> Iterator[pa.Table]:
        before = pl.col(BEFORE) * pl.col(RIGHT_BEFORE)
        after = pl.col(AFTER) * pl.col(RIGHT_AFTER)
        number = times(kind, before, after, expires=self._spec.expires).alias(TIMES)
        for pairs in self._portions(left, right):
            given = self._keep(pairs.with_columns(number).filter(pl.col(TIMES) > 0), left, right)
            yield from self._repeat(given, left, right, kind)

    def pairs(self, left: pl.DataFrame, right: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Those that satisfy the condition: the places of both rows, and their counts."""
        return (self._keep(pairs, left, right) for pairs in self._portions(left, right))

    def _portions(self, left: pl.DataFrame, right: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The same of those with equal keys."""
        left_keys, right_keys = list(self._spec.left.keys), list(self._spec.right.keys)
        counts = {BEFORE: RIGHT_BEFORE, AFTER: RIGHT_AFTER}
        lefts = left.select(*left_keys, *counts).with_row_index(LEFT_PLACE)
        rights = right.select(*right_keys, *counts).rename(counts).with_row_index(RIGHT_PLACE)
        for left_rows, right_rows in _slices(lefts, left_keys, rights, right_keys):
            pairs = join_by_keys(left_rows, left_keys, right_rows, right_keys)
            yield pairs.select(LEFT_PLACE, RIGHT_PLACE, *counts, *counts.values())

    def _keep(self, pairs: pl.DataFrame, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        condition = self._spec.condition
        if condition is None or not pairs.height:
            return pairs
        rows = _beside(pairs, left, right, sorted(condition.columns))
        return pairs[keep_partners(rows, condition, self._pair_schema)]

    def _repeat(
        self, pairs: pl.DataFrame, left: pl.DataFrame, right: pl.DataFrame, kind: RowKind
    ) -> Iterator[pa.Table]:
        """Each pair as often as `__times` says; the columns of rows are copied here, and nowhere before."""
        places = np.repeat(np.arange(pairs.height), pairs[TIMES].to_numpy())
        for start in range(0, len(places), _LARGEST_TABLE):
            portion = pairs[places[start : start + _LARGEST_TABLE]]
            rows = _beside(portion, left, right, self._pair_schema.names)
            yield to_arrow(rows.with_columns(pl.lit(kind, dtype=pl.Int8).alias(KIND)), self._spec.output_schema)

    @property
    def _pair_schema(self) -> pa.Schema:
        return pa.schema([*self._spec.left.schema, *self._spec.right.schema])


def keep_partners(pairs: pl.DataFrame, condition: PairCondition | None, schema: pa.Schema) -> NDArray[np.int64]:
    """Which of the pairs satisfy the condition; the schema has the columns of both sides."""
    if condition is None or not pairs.height:
        return np.arange(pairs.height)
    read = pa.schema([field for field in schema if field.name in condition.columns])
    table = to_arrow(pairs, read).append_column(_PAIR, pa.array(np.arange(pairs.height)))
    kept = [batch.column(_PAIR).to_numpy() for batch in condition.keep(iter(table.combine_chunks().to_batches()))]
    return np.concatenate([np.empty(0, np.int64), *kept])


def _beside(pairs: pl.DataFrame, left: pl.DataFrame, right: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The columns of the rows at these places. Of a side without columns, Polars would not know that it has rows."""
    sides = ((left, LEFT_PLACE), (right, RIGHT_PLACE))
    chosen = [(side.select(name for name in names if name in side.columns), place) for side, place in sides]
    return pl.concat([rows[pairs[place]] for rows, place in chosen if rows.width], how="horizontal")


def times(kind: RowKind, before: pl.Expr, after: pl.Expr, *, expires: bool) -> pl.Expr:
    """How many changes of a kind lead from so many equal rows of the result to so many."""
    changes = (before - after if kind is RowKind.DELETE else after - before).clip(0)
    return pl.when((before == after) & (after > 0)).then(1).otherwise(changes) if expires else changes


def repeat(rows: pl.DataFrame, kind: RowKind, schema: pa.Schema) -> Iterator[pa.Table]:
    """Each row as often as `__times` says; columns that it does not have are NULL."""
    places = np.repeat(np.arange(rows.height), rows[TIMES].to_numpy())
    missing = [pl.lit(None).alias(name) for name in schema.names if name != KIND and name not in rows.columns]
    rows = rows.with_columns(*missing, pl.lit(kind, dtype=pl.Int8).alias(KIND))
    for start in range(0, len(places), _LARGEST_TABLE):
        yield to_arrow(rows[places[start : start + _LARGEST_TABLE]], schema)


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
    if not keys:
        yield from rows.iter_slices(max(_LARGEST_TABLE // others.height, 1))
        return
    matches = others.group_by(other_keys).agg(pl.len().cast(pl.Int64).alias(_MATCHES))
    matched = join_by_keys(rows, keys, matches, other_keys)
    portions = (matched[_MATCHES].cum_sum().to_numpy() - 1) // _LARGEST_TABLE
    starts = np.flatnonzero(np.diff(portions, prepend=-1))
    for start, end in pairwise([*starts.tolist(), matched.height]):
        yield matched.slice(start, end - start).select(rows.columns)


def join_by_keys(
    left: pl.DataFrame, left_keys: Sequence[str], right: pl.DataFrame, right_keys: Sequence[str]
) -> pl.DataFrame:
    """Pairs of equal keys, where NaN equals NaN: when it joins single rows, Polars does not consider two NaN equal.

    No key is NULL.
    """
    if not left_keys:
        return left.join(right, how="cross")
    return left.join(
        right,
        left_on=_comparable(left, left_keys),
        right_on=_comparable(right, right_keys),
        nulls_equal=True,
        coalesce=False,
    )


def _comparable(rows: pl.DataFrame, keys: Sequence[str]) -> list[pl.Expr]:
    """No key is NULL, so NULL can represent NaN."""
    return [pl.col(key).fill_nan(None) if rows.schema[key].is_float() else pl.col(key) for key in keys]
