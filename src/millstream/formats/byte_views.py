"""Columns of texts that are parts of bytes in memory: nothing is copied but the shortest of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

_U: Final = np.uint64
_WORD: Final = 8
_SHORT: Final = 12
"""The most bytes that a view has itself; of a longer text it has four, and where the text is."""
_FIRST_FOUR: Final = _U(0xFFFFFFFF)
MASKS: Final = np.array([(1 << 8 * length) - 1 for length in range(_WORD + 1)], _U)
"""Words of which the first so many bytes are set."""


def view_texts(
    data: pa.Buffer,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    words: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    *,
    type_: pa.DataType,
    nulls: NDArray[np.bool_] | None = None,
) -> pa.Array:
    """These parts of `data`, as an array of views, which shares its memory. See Arrow's layout of views.

    `words` are the eight bytes at each start, and the eight that begin four bytes further on.
    """
    first, second = words
    short = lengths <= _SHORT
    views = np.empty((len(starts), 2), _U)
    views[:, 0] = lengths.astype(_U) | ((np.where(short, first & _mask(lengths), first) & _FIRST_FOUR) << _U(32))
    views[:, 1] = np.where(short, second & _mask(lengths - 4), starts.astype(_U) << _U(32))
    validity = None if nulls is None else pa.array(~nulls).buffers()[1]
    return pa.Array.from_buffers(type_, len(starts), [validity, pa.py_buffer(views), data])


def _mask(lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    masks: NDArray[np.uint64] = MASKS[lengths.clip(0, _WORD)]
    return masks
