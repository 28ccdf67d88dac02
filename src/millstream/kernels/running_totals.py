"""partition -> how many rows of OVER, and times, it has had, and what they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.aggregates.accumulators import ROW_COUNT
from millstream.kernels.changes import to_arrow
from millstream.kernels.earlier_rows import PARTITION, TIME
from millstream.kernels.frame_results import Frames, RowStates
from millstream.kernels.frames import Frame, PlacedRows
from millstream.kernels.hashing import hash_rows
from millstream.kernels.over_calls import DENSE_RANK, RANK, count_peers
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.kernels.over import OverOperator
    from millstream.kernels.row_order import Numbers
    from millstream.state.state_table import StateTable

GROUPS: Final = "groups"
SEEN: Final = "seen"
TIME_COUNT: Final = "__times"
"""How many times a partition has had."""


class RunningTotals:
    """`seen` has, for each argument of DISTINCT, the values that a partition has had."""

    def __init__(self, spec: OverOperator, table: StateTable, seen: Sequence[StateTable]) -> None:
        self._spec = spec
        self._table = table
        self._seen = seen

    def add(self, due: pl.DataFrame, _: int) -> pl.DataFrame:
        """The rows with their results."""
        if not due.height:
            return due
        spec = self._spec
        ordered = spec.row_order.sort(due)
        rows = PlacedRows.in_sequence(ordered) if spec.time is None else PlacedRows.with_peers(ordered, [TIME])
        groups = ordered.rows[ordered.starts].select(HASH, *spec.keys)
        found = self._table.lookup(groups.to_arrow())
        before = pl.DataFrame(found.values)
        times = count_peers(rows)
        states = RowStates(spec.accumulators())
        alone = states.of_rows(ordered.rows.with_columns(*self._first_seen(ordered.rows)))
        earlier = before[ordered.groups]
        by_frame = {
            by_time: states.join(earlier, states.over_frames(alone, Frames(*rows.frame_of(Frame(by_time=by_time)))))
            for by_time in {call.frame.by_time for call in spec.added_calls} or {False}
        }
        last = ordered.starts + ordered.sizes - 1
        after = next(iter(by_frame.values()))[last]  # at the end of a partition, both kinds of frames are the same
        total = pl.Series(TIME_COUNT, before[TIME_COUNT].fill_null(0).to_numpy() + times[last])
        written = pl.concat([groups, after], how="horizontal")
        written = written.with_columns(total, pl.lit(value=False).alias(DEAD))
        self._table.put(written.to_arrow(), replaced=int(found.mask.sum()))
        results = {by_time: states.results(found) for by_time, found in by_frame.items()}
        aggregates = [results[call.frame.by_time][place] for place, call in enumerate(spec.added_calls)]
        return ordered.rows.with_columns(*aggregates, *self._numbers(rows, before, times))

    def _numbers(self, rows: PlacedRows, before: pl.DataFrame, times: Numbers) -> list[pl.Series]:
        known = before.select(pl.col(ROW_COUNT, TIME_COUNT).fill_null(0))[rows.ordered.groups]
        counted, peers = known[ROW_COUNT].to_numpy(), known[TIME_COUNT].to_numpy()
        places = np.arange(len(times)) - rows.begins
        numbers = {RANK: counted + rows.first_peers - rows.begins + 1, DENSE_RANK: peers + times}
        return [
            pl.Series(each.output, numbers.get(each.function, counted + places + 1)) for each in self._spec.numberings
        ]

    def _first_seen(self, rows: pl.DataFrame) -> list[pl.Series]:
        """For each argument of DISTINCT which rows are the first of their partition to have their value."""
        return [
            self._first_with_value(rows, argument, condition, table, f"{SEEN}{place}")
            for place, ((argument, condition), table) in enumerate(zip(self._spec.seen, self._seen, strict=True))
        ]

    def _first_with_value(
        self, rows: pl.DataFrame, argument: str, condition: str | None, table: StateTable, name: str
    ) -> pl.Series:
        columns = list(dict.fromkeys((*self._spec.keys, argument)))
        is_counted = pl.col(argument).is_not_null()
        if condition is not None:
            is_counted &= pl.col(condition).fill_null(value=False)
        counted = (
            rows.select(pl.col(HASH).alias(PARTITION), *columns)
            .with_row_index("__at")
            .filter(rows.select(is_counted).to_series())
        )
        firsts = counted.unique(columns, keep="first", maintain_order=True)
        arrow = to_arrow(firsts, pa.schema([self._spec.schema.field(name) for name in columns]))
        hashes = pl.Series(HASH, hash_rows(arrow.columns, arrow.num_rows))
        keyed = firsts.with_columns(hashes)
        known = table.lookup(keyed.select(HASH, *columns).to_arrow()).mask
        written = keyed if self._spec.expires else keyed.filter(pl.Series(~known))
        dead = pl.lit(value=False).alias(DEAD)
        replaced = int(known.sum()) if self._spec.expires else 0
        table.put(written.select(HASH, *columns, PARTITION, dead).to_arrow(), replaced=replaced)
        is_first = np.zeros(rows.height, dtype=bool)
        is_first[firsts["__at"].to_numpy()[~known]] = True
        return pl.Series(name, is_first)
