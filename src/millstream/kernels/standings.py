"""What the first rows of each group were before a batch and are after it, and the changes that lead there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from millstream.aggregates.calls import OLD
from millstream.changelog import KIND, RowKind
from millstream.kernels.changes import EXISTED, EXISTS, changelog, to_arrow
from millstream.kernels.row_counts import AFTER, BEFORE

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.kernels.rank import RankOperator
    from millstream.kernels.row_order import Numbers, SortedRows


@dataclass(frozen=True, slots=True)
class Standings:
    """Rows in order, and how many copies of each are among the first of its group."""

    ordered: SortedRows
    before: Numbers
    after: Numbers


def stand(ordered: SortedRows, limit: int) -> Standings:
    """`ordered` has how often a row was there before the batch, and how often it is after it."""

    def among_first(name: str) -> Numbers:
        counts = ordered.rows[name].to_numpy()
        return np.clip(limit - ordered.sum_before(counts), 0, counts)

    return Standings(ordered, among_first(BEFORE), among_first(AFTER))


def change_members(standings: Standings, spec: RankOperator) -> pa.Table:
    """-D of what leaves, then +I of what enters."""
    more = standings.after - standings.before
    stays = (more == 0) & (standings.after > 0) & spec.repeats
    goes, comes = np.clip(-more, 0, None) + stays, np.clip(more, 0, None) + stays
    rows = standings.ordered.rows.select(spec.columns)
    sides = ((RowKind.DELETE, goes), (RowKind.INSERT, comes))
    places = np.arange(rows.height)
    changes = [
        rows[np.repeat(places, times)].with_columns(pl.lit(kind, dtype=pl.Int8).alias(KIND)) for kind, times in sides
    ]
    return to_arrow(pl.concat(changes), spec.output_schema)


def change_places(standings: Standings, spec: RankOperator) -> pa.Table:
    """The row that each place of a group had, and the one that it has now."""
    ordered = standings.ordered
    old, new = (np.repeat(np.arange(ordered.rows.height), counts) for counts in (standings.before, standings.after))
    lengths = np.maximum(ordered.sum_by_group(standings.before), ordered.sum_by_group(standings.after))
    starts = np.cumsum(lengths) - lengths
    places = np.arange(lengths.sum()) - np.repeat(starts, lengths)
    row_before, row_after = (
        _row_at(places, ordered.sum_by_group(counts), lengths, rows)
        for counts, rows in ((standings.before, old), (standings.after, new))
    )
    if not spec.repeats:
        changed = row_before != row_after
        row_before, row_after, places = row_before[changed], row_after[changed], places[changed]
    existed, exists = row_before >= 0, row_after >= 0
    rows = ordered.rows.select(spec.columns)
    before = rows[np.where(existed, row_before, row_after)]
    after = rows[np.where(exists, row_after, row_before)]
    number = [] if spec.rank is None else [pl.Series(spec.rank, places + 1)]
    images = after.with_columns(
        *(before[name].alias(OLD + name) for name in spec.values),
        *number,
        pl.Series(EXISTED, existed),
        pl.Series(EXISTS, exists),
    )
    return changelog(
        images.lazy(),
        spec.keys if spec.rank is None else (*spec.keys, spec.rank),
        spec.output_schema,
        emits_before=spec.emits_before,
        emits_unchanged=spec.repeats,
    )


def _row_at(places: Numbers, counts: Numbers, lengths: Numbers, rows: Numbers) -> Numbers:
    """For each place of each group the row there, of `rows` in order; -1 where the group has fewer."""
    found = np.full(len(places), -1, dtype=np.int64)
    has_row = places < np.repeat(counts, lengths)
    found[has_row] = rows
    return found
