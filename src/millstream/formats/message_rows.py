"""Combines key, value and metadata of messages into rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.changelog import KIND, RowKind
from millstream.formats.copies import Copies, Repeated
from millstream.formats.decoded import Decoded, DecodeError, Unreadable, UnreadableMessages, table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from millstream.formats.decoded import Decoder

KEY: Final = "__key"
VALUE: Final = "__value"
_NO_ROW: Final = -1


@dataclass(frozen=True, slots=True)
class MessageHalf:
    """The key or the value: its decoder, and the table's columns that it provides, in the decoder's order."""

    decoder: Decoder
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowsRead:
    """The result of decoding a batch of messages."""

    pieces: Iterable[pa.Table]
    """The rows, with KIND if they are changes; computed on demand, and can be iterated once."""
    skipped: int = 0
    """Messages skipped, wholly or in part, because a format ignores parse errors."""
    unreadable: tuple[Unreadable, ...] = ()
    """Messages that were set aside, each once."""

    @property
    def table(self) -> pa.Table:
        """All rows at once."""
        first, *others = self.pieces
        return pa.concat_tables([first, *others]) if others else first


@dataclass(frozen=True, slots=True)
class MessageRows:
    """Decodes batches with the columns VALUE, KEY if there is a key, and message parts by their column's name."""

    columns: tuple[str, ...]
    """The columns of the rows, in order."""
    value: MessageHalf
    key: MessageHalf | None = None
    with_kinds: bool = False
    upserts: bool = False
    """A value is the row of its key, and a message without value deletes it: then only key and parts are known."""
    sets_aside: bool = False
    """Whether undecodable messages are reported at the end; otherwise the first raises DecodeError."""

    def read(self, messages: pa.RecordBatch) -> RowsRead:
        values = messages.column(VALUE)
        decoded = self.value.decoder.decode(values, sets_aside=self.sets_aside)
        if self.key is None and self.columns == self.value.columns and not self.upserts:
            table = decoded.with_kinds() if self.with_kinds else decoded.table
            return RowsRead([table], decoded.skipped, decoded.unreadable)
        rows = _Rows.of(decoded, len(values))
        if self.upserts:
            rows = rows.with_tombstones(~values.is_valid().to_numpy(zero_copy_only=False))
        keys = None if self.key is None else self._keys(self.key, messages.column(KEY))
        of_keys = np.arange(len(values)) if keys is None else _origin(keys, len(values))
        copies = Copies.of(messages, self._repeated, rows.origin, of_keys)
        too_large = UnreadableMessages(sets_aside=self.sets_aside)
        for index in copies.too_large.tolist():
            too_large.add(index, copies.failure(index))
        return RowsRead(
            (
                self._table(messages, piece.join(of_keys, len(values)), decoded, keys)
                for piece in rows.slice(copies.pieces(rows.origin))
            ),
            len({*decoded.passed_over, *(() if keys is None else keys.passed_over)}),
            _merge_unreadable((*decoded.unreadable, *too_large.all()), () if keys is None else keys.unreadable),
        )

    @property
    def _repeated(self) -> Repeated:
        of_key = () if self.key is None else self.key.columns
        parts = [name for name in self.columns if name not in self.value.columns and name not in of_key]
        return Repeated((VALUE,) if self.value.columns else (), (KEY,) if of_key else (), tuple(parts))

    def _keys(self, key: MessageHalf, messages: pa.Array) -> Decoded:
        try:
            return key.decoder.decode(messages, sets_aside=self.sets_aside)
        except DecodeError as error:
            raise DecodeError(error.index, error.text, "key") from None

    def _table(self, messages: pa.RecordBatch, rows: _Rows, decoded: Decoded, keys: Decoded | None) -> pa.Table:
        key_rows = None if keys is None else keys.table
        arrays = [self._column(name, messages, rows, decoded.table, key_rows) for name in self.columns]
        names = list(self.columns)
        if self.with_kinds:
            arrays.append(self._kinds(rows, decoded))
            names.append(KIND)
        return pa.table(arrays, names) if arrays else table_of([], pa.schema([]), len(rows.origin))

    def _column(
        self, name: str, messages: pa.RecordBatch, rows: _Rows, values: pa.Table, keys: pa.Table | None
    ) -> pa.ChunkedArray:
        of_key = self.key.columns.index(name) if self.key is not None and name in self.key.columns else None
        if name in self.value.columns:
            of_value = _take(values.column(self.value.columns.index(name)), rows.value)
            if of_key is None or keys is None or rows.are_all_values:
                return of_value
            return pc.if_else(pa.array(rows.value == _NO_ROW), _take(keys.column(of_key), rows.key), of_value)
        if of_key is not None and keys is not None:
            return _take(keys.column(of_key), rows.key)
        return _take(pa.chunked_array([messages.column(name)]), rows.origin)

    def _kinds(self, rows: _Rows, decoded: Decoded) -> pa.Array:
        if self.upserts:
            kinds = np.where(rows.value == _NO_ROW, RowKind.DELETE, RowKind.UPDATE_AFTER)
            return pa.array(kinds.astype(np.int8))
        return _take(decoded.with_kinds()[KIND], rows.value)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The index of the message, the decoded value (_NO_ROW for a tombstone) and the decoded key of each row."""

    origin: NDArray[np.int64]
    value: NDArray[np.int64]
    key: NDArray[np.int64]

    @classmethod
    def of(cls, decoded: Decoded, messages: int) -> _Rows:
        origin = _origin(decoded, messages)
        return cls(origin, np.arange(len(origin)), origin[:0])

    @property
    def are_all_values(self) -> bool:
        return not (self.value == _NO_ROW).any()

    def with_tombstones(self, is_tombstone: NDArray[np.bool_]) -> _Rows:
        """`raw` makes a row of a missing value: here there is none."""
        if not is_tombstone.any():
            return self
        has_value = ~is_tombstone[self.origin]
        tombstones = np.flatnonzero(is_tombstone)
        origin = np.concatenate([self.origin[has_value], tombstones])
        value = np.concatenate([self.value[has_value], np.full(len(tombstones), _NO_ROW)])
        order = np.argsort(origin, kind="stable")
        return _Rows(origin[order], value[order], self.key)

    def slice(self, pieces: list[NDArray[np.int64]] | None) -> Iterator[_Rows]:
        """By the numbers of the rows in each piece; None is all of them."""
        if pieces is None:
            yield self
            return
        for piece in pieces:
            yield _Rows(self.origin[piece], self.value[piece], self.key)

    def join(self, keys: NDArray[np.int64], messages: int) -> _Rows:
        """Each row with each row of its message's key: if the key has none, there is no row."""
        if len(keys) == messages and (keys == np.arange(messages)).all():
            return _Rows(self.origin, self.value, self.origin)
        per_message = np.bincount(keys, minlength=messages)
        first_key = np.cumsum(per_message) - per_message
        copies = per_message[self.origin]
        row = np.repeat(np.arange(len(self.origin)), copies)
        which = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        origin = self.origin[row]
        return _Rows(origin, self.value[row], first_key[origin] + which)


def _merge_unreadable(values: tuple[Unreadable, ...], keys: tuple[Unreadable, ...]) -> tuple[Unreadable, ...]:
    texts = {found.index: found.text for found in values}
    for found in keys:
        of_value = texts.get(found.index)
        texts[found.index] = f"{f'{of_value} ' if of_value else ''}In the key: {found.text}"
    return tuple(Unreadable(index, texts[index]) for index in sorted(texts))


def _origin(decoded: Decoded, messages: int) -> NDArray[np.int64]:
    if decoded.origin is None:
        return np.arange(messages)
    numbers: NDArray[np.int64] = decoded.origin.to_numpy().astype(np.int64)
    return numbers


def _take(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.ChunkedArray:
    if len(rows) == len(column) and (rows == np.arange(len(rows))).all():
        return column
    return column.take(pa.array(rows, mask=rows == _NO_ROW))
