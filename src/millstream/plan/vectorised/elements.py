"""The elements of collections in Arrow arrays: where they are, and of which row each is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.plan.operators.unnest import PartKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Elements:
    """An entry per row that is made."""

    rows: Places
    """The row of the collection."""
    _children: pa.Array | pa.MapArray
    _places: Places
    """Where the element is among those of all rows."""
    _ordinals: Places
    _is_padding: NDArray[np.bool_]
    """Whether the row has no elements, and stays."""

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, kind: PartKind, field: str, start: int, end: int) -> pa.Array:
        """What a column holds of these elements, in a range of them."""
        padding = self._is_padding[start:end]
        if kind is PartKind.ORDINALITY:
            return pa.array(self._ordinals[start:end].astype(np.int32), mask=padding)
        found = _child(self._children, kind).take(pa.array(self._places[start:end], mask=padding))
        return pc.struct_field(found, [field]) if kind is PartKind.FIELD else found


def elements_of(collections: pa.Array, *, is_multiset: bool, keeps_rows: bool) -> Elements:
    """`is_multiset`: the collections are maps from element to count. Arrow's own functions do not take maps."""
    offsets = collections.offsets.to_numpy().astype(np.int64)
    is_null = collections.is_null().to_numpy(zero_copy_only=False)
    lengths = np.where(is_null, 0, np.diff(offsets))
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(rows)) + np.repeat(offsets[:-1] - _first_places(lengths), lengths)
    if is_multiset:
        times = np.maximum(pc.fill_null(collections.items, 0).to_numpy()[places], 0)
        rows, places = np.repeat(rows, times), np.repeat(places, times)
        lengths = np.bincount(rows, minlength=len(lengths))
    ordinals = np.arange(len(rows)) - _first_places(lengths)[rows] + 1
    is_padding = np.zeros(len(rows), dtype=bool)
    if keeps_rows:
        without = np.flatnonzero(lengths == 0)
        at = _first_places(lengths)[without]
        rows, places, ordinals = (
            np.insert(each, at, values) for each, values in ((rows, without), (places, 0), (ordinals, 0))
        )
        is_padding = np.insert(is_padding, at, values=True)
    return Elements(rows, collections, places, ordinals, is_padding)


def _first_places(lengths: Places) -> Places:
    """Where the elements of each row begin."""
    return np.cumsum(lengths) - lengths


def _child(collections: pa.Array, kind: PartKind) -> pa.Array:
    if isinstance(collections, pa.MapArray):
        return collections.items if kind is PartKind.VALUE else collections.keys
    return collections.values
