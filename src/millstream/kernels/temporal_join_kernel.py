"""One bucket of a temporal join, opened for one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.kernels.event_rows import LARGEST_TABLE, MIN_TIME, NUMBER, TIME, inserts
from millstream.kernels.join_pairs import keep_partners
from millstream.kernels.operator import LEFT, MAX_WATERMARK, ORDER, RIGHT, StepResult
from millstream.kernels.versions import DELETED, RANK, Versions
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from millstream.kernels.operator import BatchTime, Parts
    from millstream.kernels.temporal_join import TemporalJoinOperator
    from millstream.state.state_table import StateTable

DUE: Final = "due"
"""The table of keys by the time from which a version of theirs holds: it puts older ones out of date."""
LONELY: Final = "left_lonely"
"""The part with left rows that can have no version."""
KEY_HASH: Final = "__key_hash"


class TemporalJoinKernel:
    def __init__(self, spec: TemporalJoinOperator, tables: Mapping[str, StateTable]) -> None:
        self._spec = spec
        self._waiting = tables[LEFT]
        self._versions = tables[RIGHT]
        self._due = tables[DUE]

    def step(self, parts: Parts, time: BatchTime) -> StepResult:
        arrived, came = self._rows(LEFT, parts), self._rows(RIGHT, parts)
        waits = pl.lit(value=True) if time.watermark is None else pl.col(TIME) > time.watermark
        ready = pl.concat([self._waited(time), arrived.filter(~waits)])
        due = self._between(self._due, time)
        keys = np.unique(np.concatenate([*(rows[HASH].to_numpy() for rows in (ready, came)), due[KEY_HASH].to_numpy()]))
        stored = pl.DataFrame(self._versions.scan(keys, keys))
        versions = Versions.after(stored, came, self._spec.right.keys)
        places = versions.of(ready, self._spec.left.keys, self._spec.right.keys)
        late = self._late(ready, places, versions, time)
        self._wait(arrived.filter(waits))
        self._keep(versions, time)
        return StepResult(self._changes(ready, versions.rows, places, parts), late=late)

    def _rows(self, name: str, parts: Parts) -> pl.DataFrame:
        side = self._spec.side(name)
        own = [pa.field(ORDER, pa.int64()), pa.field(DELETED, pa.bool_())] if name == RIGHT else []
        fields = [pa.field(HASH, pa.int64()), pa.field(TIME, pa.int64()), *own, *side.schema]
        rows = pl.DataFrame(parts[name]) if name in parts else pl.DataFrame(pa.schema(fields).empty_table())
        return rows.select(field.name for field in fields)

    def _waited(self, time: BatchTime) -> pl.DataFrame:
        """Left rows that event time has passed in this batch."""
        found = self._between(self._waiting, time).rename({HASH: TIME, KEY_HASH: HASH})
        return found.select(HASH, TIME, *self._spec.left.columns)

    @staticmethod
    def _between(table: StateTable, time: BatchTime) -> pl.DataFrame:
        """What is stored by a time that this batch passes."""
        first = MIN_TIME if time.before is None else time.before + 1
        passes = time.watermark is not None and time.before != time.watermark
        last = np.array([time.watermark] if passes else [], dtype=np.int64)
        return pl.DataFrame(table.scan(np.array([first] * len(last), dtype=np.int64), last))

    def _wait(self, rows: pl.DataFrame) -> None:
        first = self._waiting.take_numbers(rows.height)
        numbers = pl.Series(NUMBER, np.arange(first, first + rows.height))
        stored = rows.select(
            pl.col(TIME).alias(HASH),
            numbers,
            pl.col(HASH).alias(KEY_HASH),
            *self._spec.left.columns,
            _dead(value=False),
        )
        self._waiting.put(stored.to_arrow())

    def _keep(self, versions: Versions, time: BatchTime) -> None:
        """Versions that came, and those that this batch has put out of date."""
        over = versions.out_of_date(time.watermark)
        written = versions.rows.with_columns(pl.Series(DEAD, over)).filter(
            pl.Series((versions.is_new & ~over) | (versions.was_stored & over), dtype=pl.Boolean)
        )
        self._versions.put(written.drop(RANK).to_arrow(), replaced=int(versions.was_stored.sum()))
        coming = pl.Series(versions.is_new & ~over, dtype=pl.Boolean)
        later = versions.rows.filter(coming)
        if time.watermark is not None:
            later = later.filter(pl.col(TIME) > time.watermark)
        due = later.select(pl.col(TIME).alias(HASH), pl.col(HASH).alias(KEY_HASH), _dead(value=False)).unique()
        self._due.put(due.to_arrow())
        if time.watermark is not None:
            for table in (self._due, self._waiting):
                table.forget_below(min(time.watermark, MAX_WATERMARK - 1) + 1)

    def _late(self, ready: pl.DataFrame, places: NDArray[np.int64], versions: Versions, time: BatchTime) -> int:
        """Left rows without a version, where these are not given, and versions that are out of date as they come."""
        if time.before is None:
            return 0
        is_late = versions.rows[TIME].to_numpy() <= time.before
        dropped = versions.is_new & versions.out_of_date(time.watermark) & ~versions.rows[DELETED].to_numpy()
        late = int((is_late & dropped).sum())
        if not self._spec.keeps_left:
            late += int(((ready[TIME].to_numpy() <= time.before) & (places < 0)).sum())
        return late

    def _changes(
        self, ready: pl.DataFrame, versions: pl.DataFrame, places: NDArray[np.int64], parts: Parts
    ) -> Iterator[pa.Table]:
        schema = self._spec.output_schema
        left, right = ready.select(self._spec.left.columns), versions.select(self._spec.right.columns)
        has_version = places >= 0
        for start in range(0, ready.height, LARGEST_TABLE):
            some = np.flatnonzero(has_version[start : start + LARGEST_TABLE]) + start
            pairs = pl.concat([left[some], right[places[some]]], how="horizontal")
            kept = keep_partners(pairs, self._spec.condition, schema)
            has_version[np.delete(some, kept)] = False
            yield from inserts(pairs[kept], schema)
        if self._spec.keeps_left:
            yield from inserts(left.filter(pl.Series(~has_version, dtype=pl.Boolean)), schema)
            if LONELY in parts:
                yield from inserts(pl.DataFrame(parts[LONELY]).drop(HASH), schema)


def _dead(*, value: bool) -> pl.Expr:
    return pl.lit(value, dtype=pl.Boolean).alias(DEAD)
