"""A filter of hashes: tells quickly that a piece does not have a key.

One bit per hash in a table of 8 to 16 bits per row, so that about one of twelve absent hashes has to be searched for.
See docs/adr/0021-cheaper-state.md for what it saves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_ROWS: Final = 1024
"""In fewer rows, a binary search is as fast."""
_BITS_PER_ROW: Final = 8
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""The hashes of a group's entries share their upper half; multiplied by this, they differ in the upper bits."""


@dataclass(frozen=True, slots=True)
class HashFilter:
    bits: NDArray[np.uint8]
    """A power of two of bytes."""

    @classmethod
    def build(cls, hashes: NDArray[np.int64]) -> HashFilter | None:
        if len(hashes) < _LEAST_ROWS:
            return None
        size = 1 << (len(hashes) * _BITS_PER_ROW - 1).bit_length()
        is_set = np.zeros(size, dtype=bool)
        is_set[_places(hashes, size)] = True
        return cls(np.packbits(is_set, bitorder="little"))

    def may_have(self, hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
        places = _places(hashes, len(self.bits) * 8)
        found: NDArray[np.bool_] = (self.bits[places >> 3] >> (places & 7).astype(np.uint8) & 1).view(bool)
        return found


def _places(hashes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """`size` is a power of two."""
    spread = hashes.view(np.uint64) * _SPREAD
    places: NDArray[np.int64] = (spread >> np.uint64(65 - size.bit_length())).view(np.int64)
    return places
