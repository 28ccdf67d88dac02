"""The order of rows that come from files, for kernels that need one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


class OrderInFiles:
    """Numbers rows by their position in their file, which does not depend on how files are assigned to tasks."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._count = 0
        """How many consecutive rows had the last split."""

    def of(self, splits: pa.Array) -> pa.Array:
        values = splits.to_numpy()
        if not len(values):
            return splits
        starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
        lengths = np.diff(np.r_[starts, len(values)])
        beside = np.arange(len(values)) - np.repeat(starts, lengths)
        if values[0] == self._last:
            beside[: lengths[0]] += self._count
        self._last, self._count = int(values[-1]), int(beside[-1]) + 1
        return pa.array(values + beside)
