"""The first rows of each group, as state: what a batch adds is put in order with what is there.

Each kind returns the rows of the groups that a batch reached, in order, with how often each was and is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.kernels.entries import ENTRY, LOWER_HALF, NUMBER
from millstream.kernels.multiset import COUNT
from millstream.kernels.row_counts import AFTER, BEFORE, RowCounts, sum_counts
from millstream.kernels.row_order import SortedRows
from millstream.state.segment_search import matching_rows
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.kernels.rank import RankOperator
    from millstream.kernels.row_order import Numbers
    from millstream.state.state_table import StateTable

_IS_WRITTEN: Final = "__is_written"
_IN_HEAD: Final = "__in_head"
_STAYS: Final = "__stays"


class OneRowHeads:
    """group -> row: of inserts, the first of each group."""

    def __init__(self, spec: RankOperator, table: StateTable) -> None:
        self._spec = spec
        self._table = table

    def update(self, inserted: pl.DataFrame) -> tuple[SortedRows, int]:
        arrived = self._spec.row_order.sort(inserted).first(1)
        groups = arrived.select(HASH, *self._spec.keys)
        found = self._table.lookup(groups.to_arrow())
        old = pl.concat([groups, pl.DataFrame(found.values)], how="horizontal").filter(pl.Series(found.mask))
        stored = old.with_columns(pl.lit(0, dtype=pl.Int64).alias(NUMBER))
        ordered = self._spec.row_order.sort(_beside(stored, _number(arrived, 0), self._spec.columns))
        heads = ordered.rows.with_columns(pl.Series(AFTER, (ordered.places == 0).astype(np.int64)))
        written = heads.filter((pl.col(AFTER) > 0) & ((pl.col(BEFORE) == 0) | self._spec.expires))
        self._table.put(
            written.select(HASH, *self._spec.columns, pl.lit(value=False).alias(DEAD)).to_arrow(),
            replaced=int(found.mask.sum()),
        )
        return SortedRows(heads, ordered.starts), 0


class InsertedHeads:
    """(group, number in order of arrival) -> row: of inserts, the first rows of each group."""

    def __init__(self, spec: RankOperator, table: StateTable) -> None:
        self._spec = spec
        self._table = table

    def update(self, inserted: pl.DataFrame) -> tuple[SortedRows, int]:
        stored = pl.DataFrame(self._table.scan(*_ranges(inserted[HASH])))
        latest = stored.select(pl.col(NUMBER).max().fill_null(0)).item()
        both = _beside(stored, _number(inserted, latest), self._spec.columns)
        ordered = self._spec.row_order.sort(both.with_columns(pl.col(HASH) & ~LOWER_HALF))
        after = (ordered.places < self._spec.limit).astype(np.int64)
        heads = ordered.rows.with_columns(pl.Series(AFTER, after))
        changed = heads.filter((pl.col(AFTER) != pl.col(BEFORE)) | ((pl.col(AFTER) > 0) & self._spec.expires))
        entry = (pl.col(HASH) | (pl.col(NUMBER) & LOWER_HALF)).alias(HASH)
        self._table.put(
            changed.select(entry, *self._spec.columns, NUMBER, (pl.col(AFTER) == 0).alias(DEAD)).to_arrow(),
            replaced=int(changed[BEFORE].sum()),
        )
        return SortedRows(heads, ordered.starts), 0


class CountedHeads:
    """row -> count, for all rows and once more for the first of each group.

    A head has all copies of its rows, and is what comes first of its group. If it has fewer rows than are wanted, it is
    the whole group. So a row that sorts behind the head is not put there, unless the head is the whole group, and
    the group is only read where retractions have used up the reserve of its head.
    """

    def __init__(self, spec: RankOperator, rows: StateTable, heads: StateTable) -> None:
        self._spec = spec
        self._all = rows
        self._counts = RowCounts(spec.columns, rows, expires=spec.expires)
        self._heads = heads

    def update(self, changes: pl.DataFrame) -> tuple[SortedRows, int]:
        counts = sum_counts(changes, self._spec.columns, keeps_zero=self._spec.expires)
        applied = self._counts.apply(counts)
        ordered = self._order_heads(applied.rows)
        stays = (ordered.rows[AFTER] > 0).to_numpy() & (
            ordered.sum_before(_counts_in(ordered, AFTER)) < self._spec.head
        )
        heads = ordered.rows.with_columns(pl.Series(_STAYS, stays))
        self._counts.write(applied.rows)
        if self._spec.expires:  # a row of a head must not expire before the head does
            self._counts.write(heads.filter(pl.col(_STAYS) & ~pl.col(_IS_WRITTEN)))
        self._write_heads(heads)
        return ordered, applied.ignored

    def _order_heads(self, written: pl.DataFrame) -> SortedRows:
        """The heads that a batch reached, with what it adds to them."""
        ordered = self._spec.row_order.sort(self._beside_stored(written, self._heads))
        in_head = ordered.rows[_IN_HEAD].to_numpy()
        is_whole = ordered.sum_by_group(np.where(in_head, _counts_in(ordered, BEFORE), 0)) < self._spec.limit
        ends = np.maximum.reduceat(np.where(in_head, ordered.places, -1), ordered.starts) if len(in_head) else in_head
        belongs = is_whole[ordered.groups] | (ordered.places <= ends[ordered.groups])
        left = ordered.sum_by_group(np.where(belongs, _counts_in(ordered, AFTER), 0))
        is_short = ~is_whole & (left < self._spec.limit)
        kept = ordered.filter(belongs)
        return self._refill(kept, ordered, is_short) if is_short.any() else kept

    def _refill(self, kept: SortedRows, ordered: SortedRows, is_short: NDArray[np.bool_]) -> SortedRows:
        """Reads the whole of groups; those that share the upper half of their hash with them are read as well."""
        short = ordered.rows[HASH].gather(ordered.starts[is_short]).unique().implode()
        written = ordered.rows.filter(pl.col(HASH).is_in(short) & pl.col(_IS_WRITTEN))
        whole = self._beside_stored(written, self._all)
        was_in_head = pl.concat([written[_IN_HEAD], pl.repeat(False, whole.height - written.height, eager=True)])
        others = kept.rows.filter(~pl.col(HASH).is_in(short))
        return self._spec.row_order.sort(pl.concat([others, whole.with_columns(was_in_head.alias(_IN_HEAD))]))

    def _beside_stored(self, written: pl.DataFrame, table: StateTable) -> pl.DataFrame:
        """Written rows, and then the others that a table has in their groups."""
        columns = list(self._spec.columns)
        stored = table.scan(*_ranges(written[HASH]))
        probe = written.select(pl.col(ENTRY).alias(HASH), *columns).to_arrow()
        probe = probe.cast(stored.select([HASH, *columns]).schema)
        rows, matches = matching_rows(stored, probe, np.arange(probe.num_rows), columns)
        in_head, is_other = np.zeros(probe.num_rows, dtype=bool), np.ones(stored.num_rows, dtype=bool)
        in_head[rows], is_other[matches] = True, False
        others = pl.DataFrame(stored.filter(pa.array(is_other))).select(
            pl.col(HASH) & ~LOWER_HALF,
            *columns,
            pl.col(HASH).alias(ENTRY),
            pl.col(COUNT).alias(BEFORE),
            pl.col(COUNT).alias(AFTER),
            pl.lit(value=False).alias(_IS_WRITTEN),
            pl.lit(value=True).alias(_IN_HEAD),
        )
        own = written.select(
            pl.col(HASH) & ~LOWER_HALF,
            *columns,
            ENTRY,
            BEFORE,
            AFTER,
            pl.lit(value=True).alias(_IS_WRITTEN),
            pl.Series(_IN_HEAD, in_head),
        )
        return pl.concat([own, others])

    def _write_heads(self, heads: pl.DataFrame) -> None:
        was, stays = pl.col(_IN_HEAD), pl.col(_STAYS)
        changed = heads.filter((was != stays) | (stays & ((pl.col(AFTER) != pl.col(BEFORE)) | self._spec.expires)))
        rows = changed.select(
            pl.col(ENTRY).alias(HASH), *self._spec.columns, pl.col(AFTER).alias(COUNT), (~stays).alias(DEAD)
        )
        self._heads.put(rows.to_arrow(), replaced=int(changed[_IN_HEAD].sum()))


def _counts_in(ordered: SortedRows, name: str) -> Numbers:
    counts: Numbers = ordered.rows[name].to_numpy()
    return counts


def _ranges(hashes: pl.Series) -> tuple[Numbers, Numbers]:
    """Where the rows of groups are, by the hashes of the groups."""
    low = np.unique(hashes.to_numpy() & ~LOWER_HALF)
    return low, low | LOWER_HALF


def _number(inserted: pl.DataFrame, latest: int) -> pl.DataFrame:
    """Rows that are new have higher numbers than all before them, in their order of arrival."""
    return inserted.with_columns(pl.col(NUMBER).rank("ordinal").cast(pl.Int64) + latest)


def _beside(stored: pl.DataFrame, inserted: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    sides = ((stored, 1), (inserted, 0))
    counted = (side.with_columns(pl.lit(count, dtype=pl.Int64).alias(BEFORE)) for side, count in sides)
    return pl.concat([side.select(HASH, *columns, NUMBER, BEFORE) for side in counted])
