"""The groups of one bucket of a Rank, opened for one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from millstream.kernels.kept_heads import CountedHeads, InsertedHeads, OneRowHeads
from millstream.kernels.operator import ROWS, StepResult
from millstream.kernels.standings import change_members, change_places, stand

if TYPE_CHECKING:
    from millstream.kernels.operator import BatchTime, OpenTable, Parts
    from millstream.kernels.rank import RankOperator

HEADS: Final = "heads"


class RankKernel:
    def __init__(self, spec: RankOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._heads: CountedHeads | InsertedHeads | OneRowHeads
        if not spec.insert_only:
            self._heads = CountedHeads(spec, open_table(ROWS), open_table(HEADS))
        elif spec.limit == 1:
            self._heads = OneRowHeads(spec, open_table(ROWS))
        else:
            self._heads = InsertedHeads(spec, open_table(ROWS))

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        heads, ignored = self._heads.update(pl.DataFrame(parts[ROWS]))
        standings = stand(heads, self._spec.limit)
        change = change_places if self._spec.goes_by_place else change_members
        return StepResult((change(standings, self._spec),), ignored)
