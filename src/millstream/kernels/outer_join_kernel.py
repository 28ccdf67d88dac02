"""One bucket of a join whose result depends on rows without a partner, opened for one batch.

Beside pairs, or instead of them, the result has single rows of a side: those that have no partner, or, in a semi join,
those that have one. With equalities alone, all rows of a key have partners or none has; it is enough to count the rows
of the other side by key. With a condition, each row is stored with the number of its partners.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from millstream.changelog import RowKind
from millstream.join_kinds import JoinKind
from millstream.kernels.join_kernel import counts_of
from millstream.kernels.join_pairs import TIMES, Batch, PairJoiner, repeat, times
from millstream.kernels.multiset import COUNT
from millstream.kernels.operator import LEFT, RIGHT, StepResult
from millstream.kernels.partners import (
    HAD,
    HAS,
    KEYS,
    MARK,
    PARTNERS,
    count_partners,
    flips,
    key_changes,
    with_key_counts,
    without_expired,
)
from millstream.kernels.row_counts import AFTER, BEFORE, RowCounts
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from millstream.kernels.join import JoinOperator
    from millstream.kernels.operator import BatchTime, OpenTable, Parts
    from millstream.kernels.portions import Portions
    from millstream.kernels.row_counts import Written

_OTHER: Final = {LEFT: RIGHT, RIGHT: LEFT}
_BEFORE_BATCH: Final = "__partners_before"
_ALONE: Final = {JoinKind.SEMI: (True,), JoinKind.MARK: (False, True)}
"""Whether the rows that a join gives by themselves have partners, if not only those without."""

Singles: TypeAlias = "tuple[pl.DataFrame, Iterable[pl.DataFrame]]"
"""Written rows, and unchanged ones, that may be in the result by themselves before the batch or after it."""


class _Counted(NamedTuple):
    """Unchanged rows of a side, and the written ones of the other side that are paired with them."""

    rows: pl.DataFrame
    """Those whose number of partners changes, with the new number; none if it is not stored."""
    gained: NDArray[np.int64]
    """How many partners each of the written rows gains here."""


class OuterJoinKernel:
    def __init__(self, spec: JoinOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._pairs = PairJoiner(spec)
        self._asking = [name for name in spec.inputs if spec.asks_for_partners(name)]
        self._rows = {
            name: RowCounts(
                spec.side(name).columns,
                open_table(name),
                expires=spec.expires,
                beside=[PARTNERS] if spec.counts_partners(name) else [],
                appends=spec.appends(name),
            )
            for name in spec.inputs
        }
        self._keys = {
            name: RowCounts(spec.side(name).keys, open_table(name + KEYS), expires=spec.expires)
            for name in spec.inputs
            if spec.counts_keys(name)
        }

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        if self._spec.condition is not None:
            return self._step_by_partners(parts)
        return self._step_by_keys(parts) if self._spec.kind.gives_pairs else self._step_without_pairs(parts)

    def _step_by_keys(self, parts: Parts) -> StepResult:
        """Outer joins by equalities alone."""
        written = self._apply(parts)
        others = {name: self._others(name, written) for name in written}
        counts = {name: self._count_keys(name, written, others) for name in self._keys}
        singles = {
            name: self._rows_by_key(name, written[name].rows, others[name], counts[_OTHER[name]])
            for name in self._asking
        }
        for name, table in self._rows.items():
            table.write(written[name].rows)
        for name, table in self._keys.items():
            table.write(counts[name].filter(table.is_written))
        return StepResult(self._changes(singles, self._sides(written, others)), _ignored(written))

    def _step_without_pairs(self, parts: Parts) -> StepResult:
        """Semi and anti joins by equalities alone: of the right side, keys are all that is stored."""
        spec, rows, keys = self._spec, self._rows[LEFT], self._rows[RIGHT]
        left = rows.apply(counts_of(spec, LEFT, parts))
        asking = left.rows.filter(self._has_key(LEFT))
        right = keys.add(key_changes(counts_of(spec, RIGHT, parts), spec.right.keys, asking, spec.left.keys))
        others = rows.others(right.rows.filter(flips())[HASH], left.rows)
        singles = {LEFT: self._rows_by_key(LEFT, left.rows, others, right.rows)}
        rows.write(left.rows)
        keys.write(right.rows.filter(keys.is_written))
        return StepResult(self._changes(singles), left.ignored + right.ignored)

    def _step_by_partners(self, parts: Parts) -> StepResult:
        """Joins with a condition beside the equalities, or without any."""
        written = self._apply(parts)
        others = {
            name: self._rows[name].others(written[_OTHER[name]].rows[HASH], written[name].rows) for name in written
        }
        sides = self._sides(written, others)
        gained = count_partners(self._pairs, sides[LEFT].written, sides[RIGHT].written)
        changed = {name: self._count_others(name, others[name], sides) for name in others}
        last: dict[str, pl.DataFrame] = {}
        for name, portions in changed.items():
            for portion in portions:
                if name in last and name in self._asking:
                    self._rows[name].write(last[name])
                gained[_OTHER[name]] += portion.gained
                last[name] = portion.rows
        singles: dict[str, Singles] = {}
        for name, table in self._rows.items():
            own = written[name].rows
            if name in self._asking:
                own = self._count_partners(name, own, gained[name]).select(last[name].columns)
                singles[name] = own, changed[name].map(_rows_that_flip)
                own = pl.concat([own, last[name]])
            table.write(own)
        return StepResult(self._changes(singles, sides), _ignored(written))

    def _count_others(
        self, name: str, others: Portions[pl.DataFrame], sides: Mapping[str, Batch]
    ) -> Portions[_Counted]:
        written = sides[_OTHER[name]].written

        def count(rows: pl.DataFrame) -> _Counted:
            both = {name: self._with_key(name, rows), _OTHER[name]: written}
            gained = count_partners(self._pairs, both[LEFT], both[RIGHT])
            if name not in self._asking:
                return _Counted(rows.clear(), gained[_OTHER[name]])
            counted = self._count_partners(name, rows, gained[name])
            return _Counted(counted.filter(pl.col(PARTNERS) != pl.col(_BEFORE_BATCH)), gained[_OTHER[name]])

        return others.map(count)

    def _apply(self, parts: Parts) -> Mapping[str, Written]:
        return {name: table.apply(counts_of(self._spec, name, parts)) for name, table in self._rows.items()}

    def _others(self, name: str, written: Mapping[str, Written]) -> Portions[pl.DataFrame]:
        """Where rows may have expired, those of every key of the batch: it may be its last ones that have."""
        hashes = written[_OTHER[name]].rows[HASH]
        own = written[name].rows
        return self._rows[name].others(pl.concat([hashes, own[HASH]]) if self._spec.expires else hashes, own)

    def _sides(
        self, written: Mapping[str, Written], others: Mapping[str, Portions[pl.DataFrame]]
    ) -> Mapping[str, Batch]:
        return {
            name: Batch(self._with_key(name, written[name].rows), others[name].map(partial(self._with_key, name)))
            for name in written
        }

    def _with_key(self, name: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows that may have partners."""
        return rows.filter(self._has_key(name)).select(*self._spec.side(name).columns, BEFORE, AFTER)

    def _has_key(self, name: str) -> pl.Expr:
        """Only a side that keeps its rows without a partner stores those whose key has a NULL."""
        keys = self._spec.side(name).keys if self._spec.keeps(name) else ()
        return pl.all_horizontal(pl.lit(value=True), *(pl.col(key).is_not_null() for key in keys))

    def _count_keys(
        self, name: str, written: Mapping[str, Written], others: Mapping[str, Portions[pl.DataFrame]]
    ) -> pl.DataFrame:
        keys, other = self._spec.side(name).keys, _OTHER[name]
        own = written[name].rows.filter(self._has_key(name))
        asking = written[other].rows.filter(self._has_key(other))
        added = own.with_columns((pl.col(AFTER) - pl.col(BEFORE)).alias(COUNT))
        counts = self._keys[name].add(key_changes(added, keys, asking, self._spec.side(other).keys)).rows
        if not self._spec.expires:
            return counts
        live = others[name].map(lambda rows: rows.filter(self._has_key(name)))
        return without_expired(counts, keys, chain([own.filter(pl.col(AFTER) > 0)], live))

    def _rows_by_key(
        self, name: str, written: pl.DataFrame, others: Portions[pl.DataFrame], counts: pl.DataFrame
    ) -> Singles:
        """Written rows, and others whose key has its first partner or has lost its last one."""
        keys, counted = self._spec.side(name).keys, self._spec.side(_OTHER[name]).keys
        has_key, columns = self._has_key(name), [*self._spec.side(name).columns, BEFORE, AFTER]
        never = [pl.lit(value=False).alias(HAD), pl.lit(value=False).alias(HAS)]
        own = [
            with_key_counts(written.filter(has_key).select(columns), keys, counts, counted),
            written.filter(~has_key).select(columns).with_columns(never),
        ]
        flipped = counts.filter(flips())

        def find(rows: pl.DataFrame) -> pl.DataFrame:
            return with_key_counts(rows.filter(has_key).select(columns), keys, flipped, counted)

        return pl.concat(own), others.map(find) if flipped.height else ()

    def _count_partners(self, name: str, rows: pl.DataFrame, gained: NDArray[np.int64]) -> pl.DataFrame:
        """`gained` is for the rows that may have partners."""
        change = np.zeros(rows.height, dtype=np.int64)
        change[rows.with_columns(self._has_key(name).alias(HAS))[HAS].to_numpy()] = gained
        after = pl.col(PARTNERS) + pl.Series(change)
        return rows.with_columns(
            pl.col(PARTNERS).alias(_BEFORE_BATCH), (pl.col(PARTNERS) > 0).alias(HAD), (after > 0).alias(HAS), after
        )

    def _changes(self, singles: Mapping[str, Singles], sides: Mapping[str, Batch] | None = None) -> Iterator[pa.Table]:
        for kind in (RowKind.DELETE, RowKind.INSERT):
            if sides is not None and self._spec.kind.gives_pairs:
                yield from self._pairs.changes(kind, sides[LEFT], sides[RIGHT])
            for name, (written, others) in singles.items():
                for rows in chain([written], others):
                    for mark in _ALONE.get(self._spec.kind, (False,)):
                        yield from self._alone(name, rows, kind, mark=mark)

    def _alone(self, name: str, rows: pl.DataFrame, kind: RowKind, *, mark: bool) -> Iterator[pa.Table]:
        """Rows in the result by themselves: of those that have a partner, if `mark` is true, or of the others."""
        had, has = (pl.col(state) if mark else ~pl.col(state) for state in (HAD, HAS))
        number = times(kind, pl.col(BEFORE) * had, pl.col(AFTER) * has, expires=self._spec.expires)
        columns = [*self._spec.side(name).columns, TIMES]
        timed = rows.with_columns(number.alias(TIMES)).filter(pl.col(TIMES) > 0).select(columns)
        if self._spec.kind is JoinKind.MARK:
            timed = timed.with_columns(pl.lit(mark).alias(MARK))
        yield from repeat(timed, kind, self._spec.output_schema)


def _rows_that_flip(counted: _Counted) -> pl.DataFrame:
    return counted.rows.filter(pl.col(HAD) != pl.col(HAS))


def _ignored(written: Mapping[str, Written]) -> int:
    return sum(each.ignored for each in written.values())
