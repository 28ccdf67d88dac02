"""The groups of one bucket, opened for one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from millstream.aggregates.accumulators import ROW_COUNT
from millstream.aggregates.calls import OLD
from millstream.kernels.changes import EXISTED, EXISTS, add_old_values, changelog
from millstream.kernels.entries import GROUP, number_groups
from millstream.kernels.entry_calls import EntryCalls
from millstream.kernels.operator import StepResult
from millstream.kernels.origins import merge_groups
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.aggregates.accumulators import CallColumns
    from millstream.kernels.aggregate import AggregateOperator
    from millstream.kernels.entries import GroupTable
    from millstream.kernels.operator import BatchTime, OpenTable, Parts

GROUPS: Final = "groups"


class AggregateKernel:
    def __init__(self, spec: AggregateOperator, open_table: OpenTable, groups: GroupTable | None = None) -> None:
        self._spec = spec
        self._accumulators = [found for call in spec.calls if (found := spec.accumulator(call)) is not None]
        self._entries = {
            name: EntryCalls(spec, name, entries, open_table) for name, entries in spec.entry_tables.items()
        }
        kept = [kept for entries in self._entries.values() for kept in entries.kept]
        listed = [listed for entries in self._entries.values() for listed in entries.listed]
        owners: list[CallColumns] = [*self._accumulators, *kept, *listed]
        self._groups = open_table(GROUPS) if groups is None else groups
        self._results = {owner.call: owner.result for owner in owners}

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        """Receives the output of `combine` for any number of batches; returns the groups that changed."""
        frame = self.apply(self.merge(pl.DataFrame(parts[GROUPS])), parts)
        self.write(frame)
        return StepResult((self._changes(frame),), self.count_ignored(frame))

    def apply(self, groups: pl.DataFrame, parts: Parts) -> pl.DataFrame:
        """Groups as they are after a batch, beside what they were; single values are written at once."""
        frame = self._look_up_old(groups)
        for name, entries in self._entries.items():
            frame = entries.step(frame, parts.get(name))
        applied = [(pl.col(name) + pl.col(OLD + name).fill_null(0)).alias(name) for name in self._spec.counters]
        applied += [column for accumulator in self._accumulators for column in accumulator.apply()]
        return frame.lazy().with_columns(applied).with_columns((pl.col(ROW_COUNT) > 0).alias(EXISTS)).collect()

    def count_ignored(self, frame: pl.DataFrame) -> int:
        """Rows removed from a group that lacks them or their value; one missing in several tables counts once."""
        missed = [pl.col(name).fill_null(0) for entries in self._entries.values() for name in entries.missed]
        return int(frame.select(pl.max_horizontal(-pl.col(ROW_COUNT), 0, *missed).sum()).item())

    def merge(self, part: pl.DataFrame) -> pl.DataFrame:
        """Each group of a batch once."""
        counters = [pl.col(name).sum() for name in self._spec.counters]
        merged = [
            column
            for accumulator in self._accumulators
            if self._spec.entries_of(accumulator.call) is None
            for column in accumulator.merge()
        ]
        return merge_groups(part, self._spec.keys, [*counters, *merged])

    def _look_up_old(self, groups: pl.DataFrame) -> pl.DataFrame:
        found = self._groups.lookup(groups[[HASH, *self._spec.keys]].to_arrow())
        frame = add_old_values(groups, found).with_row_index(GROUP)
        return number_groups(frame, self._groups) if self._entries else frame

    def write(self, frame: pl.DataFrame) -> None:
        names = [field.name for field in self._spec.state_tables[GROUPS].values]
        touched = frame.lazy().filter(pl.col(EXISTED) | pl.col(EXISTS))
        written = touched.select(HASH, *self._spec.keys, *names, (~pl.col(EXISTS)).alias(DEAD)).collect()
        self._groups.put(written.to_arrow(), replaced=int(frame[EXISTED].sum()))
        if self._entries and not frame[EXISTS].all():
            self.clear(frame.filter(~pl.col(EXISTS)))

    def clear(self, groups: pl.DataFrame) -> None:
        """Deletes the individual values of groups that are gone."""
        for entries in self._entries.values():
            entries.table.clear(groups)

    def read(self, groups: pl.DataFrame) -> pl.DataFrame:
        """The results of groups as they are stored."""
        for entries in self._entries.values():
            groups = entries.read(groups, "")
        results = (result("").alias(call.output) for call, result in self._results.items())
        return groups.select(*self._spec.keys, *results)

    def _changes(self, frame: pl.DataFrame) -> pa.Table:
        results = [
            self._results[call](prefix).alias(prefix + call.output) for call in self._spec.calls for prefix in ("", OLD)
        ]
        return changelog(
            frame.lazy().select(*self._spec.keys, *results, EXISTED, EXISTS),
            self._spec.keys,
            self._spec.output_schema,
            emits_before=self._spec.emits_before,
            emits_unchanged=self._spec.repeats,
        )
