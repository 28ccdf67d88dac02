"""Rows that are looked up by a key: the current rows of a table, and which of them match the rows of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LEFT: Final = "__left"
_RIGHT: Final = "__right"


class CurrentRows:
    """The rows of a table after the changes that are known; rows of equal primary keys replace each other."""

    def __init__(self, schema: pa.Schema, keys: Sequence[str]) -> None:
        """`keys` are the columns of the primary key; without them, rows are only added."""
        self._keys = list(keys)
        self._rows = schema.empty_table()
        self._indexes: dict[tuple[str, ...], pl.DataFrame] = {}

    @property
    def rows(self) -> pa.Table:
        return self._rows

    def apply(self, changes: pa.Table) -> None:
        """Changes in order, with their kind if there is a primary key; a deletion needs no other columns."""
        if not changes.num_rows:
            return
        rows = changes.select(self._rows.column_names).cast(self._rows.schema)
        if self._keys:
            last = _last_of_each(changes.select(self._keys))
            is_there = changes.column(KIND).to_numpy()[last] != RowKind.DELETE
            replaced, _ = _pairs(_index(self._rows, self._keys, _LEFT), _index(rows.take(last), self._keys, _RIGHT))
            stays = np.ones(self._rows.num_rows, dtype=bool)
            stays[replaced] = False
            kept = self._rows if stays.all() else self._rows.filter(pa.array(stays))
            self._rows = pa.concat_tables([kept, rows.take(last[is_there])])
        else:
            self._rows = pa.concat_tables([self._rows, rows])
        self._rows = self._rows.combine_chunks()
        self._indexes.clear()

    def match(
        self, rows: pa.RecordBatch, row_keys: Sequence[str], keys: Sequence[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places of pairs of equal keys, in `rows` and here, in the order of `rows`. NULL matches nothing."""
        wanted = tuple(keys)
        if wanted not in self._indexes:
            self._indexes[wanted] = _index(self._rows, wanted, _RIGHT)
        return _pairs(_index(rows, row_keys, _LEFT), self._indexes[wanted])


def _index(rows: pa.Table | pa.RecordBatch, keys: Sequence[str], place: str) -> pl.DataFrame:
    """The keys under numbers for names, and the place of each row; rows with a NULL among them are left out."""
    columns = [pl.Series(str(number), rows.column(name)) for number, name in enumerate(keys)]
    index = pl.DataFrame([*columns, pl.Series(place, np.arange(rows.num_rows))]).drop_nulls()
    # No key is NULL, so NULL can represent NaN, which Polars does not consider equal to itself in every join.
    floats = [name for name, type_ in index.schema.items() if type_.is_float()]
    return index.with_columns((pl.col(name) + 0.0).fill_nan(None) for name in floats)


def _pairs(left: pl.DataFrame, right: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An inner join: Polars makes its table of the smaller side, whichever that is."""
    on = [name for name in left.columns if name != _LEFT]
    pairs = left.join(right, on=on, nulls_equal=True).sort(_LEFT, _RIGHT)
    return pairs[_LEFT].to_numpy(), pairs[_RIGHT].to_numpy()


def _last_of_each(keys: pa.Table) -> NDArray[np.int64]:
    """The places of the last row of each key, in order."""
    index = _index(keys, keys.column_names, _LEFT)
    names = [name for name in index.columns if name != _LEFT]
    return index.unique(names, keep="last", maintain_order=True)[_LEFT].sort().to_numpy()
