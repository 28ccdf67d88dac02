"""The sessions of one bucket, opened for one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.changelog import KIND, RowKind
from millstream.kernels.changes import to_arrow
from millstream.kernels.entries import LOWER_HALF, NUMBER
from millstream.kernels.open_windows import last_closed, may_close, time_of_windows
from millstream.kernels.operator import ROWS, StepResult
from millstream.kernels.row_order import RowOrder, SortKey
from millstream.kernels.slice_table import SliceTable, milliseconds
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from millstream.kernels.operator import BatchTime, OpenTable, Parts
    from millstream.kernels.row_order import Numbers
    from millstream.kernels.sessions import SessionOperator
    from millstream.state.state_table import StateTable

SESSIONS: Final = "sessions"
TIMERS: Final = "timers"
START: Final = "__start"
END: Final = "__end"
"""Of a session, in milliseconds; the end is a gap behind the last row."""
DUE: Final = "__due"
GROUP_HASH: Final = "__group_hash"
"""The upper half of a group's hash, which its rows and sessions have in common."""
_SESSION: Final = "__session"
_STORED: Final = "__stored"
_LATE: Final = "__late"
_CLOSES: Final = "__closes"
_OWN_START: Final = "__own_start"
_IS_FIRST: Final = pl.col(_SESSION).ne_missing(pl.col(_SESSION).shift())
"""Of the rows of a session, which are adjacent."""


class SessionKernel:
    def __init__(self, spec: SessionOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._rows = open_table(ROWS)
        self._sessions = open_table(SESSIONS)
        self._timers = SliceTable(open_table(TIMERS), DUE)
        self._order = RowOrder(spec.keys, (SortKey(START), SortKey(_STORED, descending=True)))

    def step(self, parts: Parts, time: BatchTime) -> StepResult:
        time = time_of_windows(time, by_clock=self._spec.by_clock)
        rows = self._arrive(parts)
        reached = rows[HASH]
        if time.watermark is not None and may_close(time):
            due = self._timers.up_to(last_closed(time.watermark))
            self._timers.remove(due)
            reached = pl.concat([reached, due[GROUP_HASH]])
        if not len(reached):
            return StepResult(())
        placed = self._place(rows, _scan_groups(self._sessions, reached), time)
        sessions, rows = placed.filter(pl.col(_STORED)), placed.filter(~pl.col(_STORED))
        self._write_sessions(sessions, rows)
        closing = self._close(placed, rows.filter(pl.col(_CLOSES)))
        self._append(rows.filter(~pl.col(_LATE) & ~pl.col(_CLOSES)))
        return StepResult((closing,), late=int(rows[_LATE].sum()))

    def _arrive(self, parts: Parts) -> pl.DataFrame:
        """New rows, with higher numbers than all before them."""
        if ROWS not in parts:
            return pl.DataFrame(self._spec.empty_rows)
        rows = pl.DataFrame(parts[ROWS])
        first = self._rows.take_numbers(rows.height)
        return rows.with_columns(pl.col(HASH) & ~LOWER_HALF, pl.col(NUMBER).rank("ordinal").cast(pl.Int64) + first)

    def _place(self, rows: pl.DataFrame, stored: pl.DataFrame, time: BatchTime) -> pl.DataFrame:
        """Stored sessions and new rows in order, each with the bounds of the session that it now belongs to."""
        at = milliseconds(self._spec.time)
        spans = pl.concat(
            [
                stored.with_columns(pl.lit(value=True).alias(_STORED)),
                rows.with_columns(
                    at.alias(START), (at + self._spec.gap).alias(END), pl.lit(value=False).alias(_STORED)
                ),
            ],
            how="diagonal",
        )
        ordered = self._order.sort(spans)
        starts, ends = ordered.rows[START].to_numpy(), ordered.rows[END].to_numpy()
        first = np.flatnonzero(_begins(ordered.groups, starts, ends))
        sizes = np.diff(first, append=len(starts))
        placed = ordered.rows.with_columns(
            pl.col(START).alias(_OWN_START),
            pl.Series(_SESSION, np.repeat(np.arange(len(first)), sizes)),
            pl.Series(START, np.repeat(starts[first], sizes)),
            pl.Series(END, np.repeat(np.maximum.reduceat(ends, first) if len(first) else ends, sizes)),
        )
        # What has ended before the batch has only rows of this batch, for stored sessions were open.
        late, closes = _ends_by(time.before), _ends_by(time.watermark)
        return placed.with_columns(late.alias(_LATE), (closes & ~late).alias(_CLOSES))

    def _write_sessions(self, stored: pl.DataFrame, rows: pl.DataFrame) -> None:
        """Those that a row has joined or begun, in the place of what they were before; without those that close."""
        changed = rows.filter(~pl.col(_LATE) & ~pl.col(_CLOSES)).filter(_IS_FIRST)
        is_joined = np.isin(stored[_SESSION].to_numpy(), changed[_SESSION].to_numpy(), kind="sort")
        touched = stored.filter(pl.col(_CLOSES) | pl.Series(is_joined))
        gone = touched.filter(pl.col(_CLOSES) | (pl.col(_OWN_START) != pl.col(START)))
        columns = [HASH, *self._spec.keys, START, END, DEAD]
        written = pl.concat(
            [
                gone.with_columns(pl.col(_OWN_START).alias(START), pl.lit(value=True).alias(DEAD)).select(columns),
                changed.with_columns(pl.lit(value=False).alias(DEAD)).select(columns),
            ]
        )
        entries = written.with_columns(pl.col(HASH) | (pl.col(START) & LOWER_HALF))
        self._sessions.put(entries.to_arrow(), replaced=touched.height)
        due = changed.select(
            pl.col(HASH),
            pl.from_epoch(pl.col(END), "ms").cast(pl.Datetime("us")).alias(DUE),
            pl.col(HASH).alias(GROUP_HASH),
            pl.lit(value=False).alias(DEAD),
        )
        self._timers.put(due.unique([DUE, GROUP_HASH]).to_arrow())

    def _close(self, placed: pl.DataFrame, rows: pl.DataFrame) -> pa.Table:
        """The rows of sessions that close: new ones, and those that have waited."""
        names = [HASH, *self._spec.columns, NUMBER]
        ending = placed.filter(pl.col(_STORED) & pl.col(_CLOSES))
        found = rows.select(*names, START, END)
        if ending.height:
            waited = _scan_groups(self._rows, ending[HASH])
            members = self._members(waited, placed)
            self._rows.put(
                members.with_columns(pl.col(HASH) | (pl.col(NUMBER) & LOWER_HALF), pl.lit(value=True).alias(DEAD))
                .select(*names, DEAD)
                .to_arrow(),
                replaced=members.height,
            )
            found = pl.concat([found, members.select(found.columns).cast(found.schema)])
        bounds = found.sort(NUMBER).with_columns(
            *(
                pl.from_epoch(at, "ms").cast(pl.Datetime("us")).alias(name)
                for name, at in zip(self._spec.bounds, (pl.col(START), pl.col(END), pl.col(END) - 1), strict=True)
            ),
            pl.lit(RowKind.INSERT, dtype=pl.Int8).alias(KIND),
        )
        return to_arrow(bounds, self._spec.output_schema)

    def _members(self, waited: pl.DataFrame, placed: pl.DataFrame) -> pl.DataFrame:
        """The rows that have waited for sessions which close, with the bounds of these."""
        sessions = placed.filter(_IS_FIRST).select(
            HASH, *self._spec.keys, START, END, _CLOSES, pl.lit(value=True).alias(_STORED)
        )
        at = milliseconds(self._spec.time).alias(START)
        both = pl.concat(
            [sessions, waited.with_columns(at, pl.lit(value=False).alias(_STORED))], how="diagonal_relaxed"
        )
        ordered = self._order.sort(both)
        is_session = ordered.rows[_STORED].to_numpy()
        own = np.maximum.accumulate(np.where(is_session, np.arange(len(is_session)), 0))
        is_member = ~is_session & ordered.rows[_CLOSES].fill_null(value=False).to_numpy()[own]
        is_member &= ordered.groups[own] == ordered.groups
        bounds = ordered.rows[[START, END]][own[is_member]]
        return ordered.rows.filter(pl.Series(is_member)).with_columns(bounds.get_columns())

    def _append(self, rows: pl.DataFrame) -> None:
        entries = rows.select(
            pl.col(HASH) | (pl.col(NUMBER) & LOWER_HALF), *self._spec.columns, NUMBER, pl.lit(value=False).alias(DEAD)
        )
        self._rows.put(entries.to_arrow())


def _scan_groups(table: StateTable, hashes: pl.Series) -> pl.DataFrame:
    low = np.unique(hashes.to_numpy() & ~LOWER_HALF)
    return pl.DataFrame(table.scan(low, low | LOWER_HALF)).with_columns(pl.col(HASH) & ~LOWER_HALF)


def _begins(groups: Numbers, starts: Numbers, ends: Numbers) -> NDArray[np.bool_]:
    """Whether a span begins a session: nothing before it in its group reaches to it. Spans are sorted by group, start.

    To compare within groups, ends are replaced by their ranks, behind the number of the group.
    """
    order = np.argsort(ends, kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    furthest = np.maximum.accumulate(groups * len(order) + ranks) % max(len(order), 1)
    begins = np.ones(len(starts), dtype=bool)
    begins[1:] = (groups[1:] != groups[:-1]) | (starts[1:] > ends[order][furthest[:-1]])
    return begins


def _ends_by(watermark: int | None) -> pl.Expr:
    return (pl.col(END) - 1 <= pl.lit(watermark, dtype=pl.Int64)).fill_null(value=False)
