"""Limits the size of messages with several rows, each of which repeats the rest of the message.

Each row of the value is combined with each row of the key: two lists of 60 KB are 400,000,000 rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.decoded import MOST_COPIED_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BYTES_OF_A_ROW: Final = 64
"""For a row that exists only because rows of key and value are combined."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """The columns of messages that are copied for each row of the key, of the value, or of both together."""

    by_key: tuple[str, ...] = ()
    by_value: tuple[str, ...] = ()
    by_both: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copies:
    """For each message of a batch: the rows of its value and of its key, and the size of their combination."""

    value_rows: NDArray[np.int64]
    key_rows: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(
        cls, messages: pa.RecordBatch, columns: Repeated, values: NDArray[np.int64], keys: NDArray[np.int64]
    ) -> Copies:
        """`values` and `keys` have the index of the message for each row."""
        value_rows = np.bincount(values, minlength=messages.num_rows)
        key_rows = np.bincount(keys, minlength=messages.num_rows)
        rows = value_rows * key_rows
        sizes = np.maximum(rows - value_rows - key_rows, 0) * _BYTES_OF_A_ROW
        for names, times in ((columns.by_key, key_rows), (columns.by_value, value_rows), (columns.by_both, rows)):
            for name in names:
                sizes += _copied_sizes(messages.column(name), times)
        return cls(value_rows, key_rows, np.where(rows > 1, sizes, 0))

    @property
    def too_large(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.sizes > MOST_COPIED_BYTES)

    def failure(self, index: int) -> str:
        rows = int(self.value_rows[index] * self.key_rows[index])
        return (
            f"It has {rows} rows, {self.value_rows[index]} in its value for each of {self.key_rows[index]} in its key, "
            f"which is {int(self.sizes[index]) >> 20} MiB with all that each has of the message, "
            f"and more than {MOST_COPIED_BYTES >> 20} MiB."
        )

    def pieces(self, origin: NDArray[np.int64]) -> list[NDArray[np.int64]] | None:
        """The rows of values, by number, in pieces that are not too large; None if they are one piece."""
        if self.sizes.sum() <= MOST_COPIED_BYTES:
            return None
        kept = np.flatnonzero(self.sizes[origin] <= MOST_COPIED_BYTES)
        of_row = self.sizes[origin[kept]] // np.maximum(self.value_rows[origin[kept]], 1)
        piece_of = np.cumsum(of_row) // MOST_COPIED_BYTES
        starts = np.flatnonzero(np.diff(piece_of))
        return np.split(kept, starts + 1)


def _copied_sizes(column: pa.Array, copies: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bytes of each value times its number of copies; for a nested value only if it is copied."""
    if pa.types.is_binary(column.type) or pa.types.is_string(column.type):
        lengths: NDArray[np.int64] = pc.fill_null(pc.binary_length(column), 0).to_numpy().astype(np.int64)
        return lengths * copies
    sizes = np.zeros(len(column), np.int64)
    if pa.types.is_nested(column.type):
        for i in np.flatnonzero(copies > 1).tolist():
            sizes[i] = column.slice(i, 1).nbytes * copies[i]
    return sizes
