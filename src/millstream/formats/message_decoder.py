"""Decodes a batch of messages to a table: as a whole where that is exact, otherwise one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.changelog import KIND
from millstream.formats.decoded import Decoded, UnreadableMessages, table_of
from millstream.formats.one_by_one import OneByOne

if TYPE_CHECKING:
    from numpy.typing import NDArray

# After a failed batch, an odd message costs at most this many exact reads.
_SMALL_BATCH: Final = 256
_BATCH_BYTES: Final = 1 << 28


class MessageDecoder(ABC):
    """What all text formats have in common. `schema` may have a column KIND; an empty message may have a meaning."""

    empty_says_nothing = True

    def __init__(self, schema: pa.Schema, *, reads_batches: bool, ignores_errors: bool) -> None:
        self._schema = schema
        self._ignores_errors = ignores_errors
        self._exact_only = not reads_batches

    @abstractmethod
    def _prepare(self, messages: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
        """The messages (none NULL) in the form that the batch reader needs, and which of them it can decode."""

    @abstractmethod
    def _read_batch(self, messages: pa.Array) -> tuple[pa.Table, NDArray[np.int64] | None] | None:
        """The rows with the index of their message (None: one row each); None if the batch reader cannot decide."""

    @abstractmethod
    def _rows(self, message: bytes) -> tuple[list[list[object]], bool]:
        """The rows of a message, and whether all of it was decoded. Raises the cause."""

    @abstractmethod
    def _failure(self, message: bytes, cause: Exception) -> str: ...

    def decode(self, values: pa.Array, *, sets_aside: bool = False) -> Decoded:
        """The rows of the messages; a NULL has none."""
        sizes = pc.fill_null(pc.binary_length(values), 0).to_numpy()
        says_something = sizes if self.empty_says_nothing else values.is_valid().to_numpy(zero_copy_only=False)
        present = np.flatnonzero(says_something)
        messages = values if len(present) == len(values) else values.take(pa.array(present))
        found = _Found(self._schema, UnreadableMessages(sets_aside=sets_aside))
        unsettled = [
            rest
            for part in _parts(messages.cast(pa.binary()), present, sizes)
            for rest in self._read_lines(*part, found)
        ]
        self._read_exactly(values, np.sort(np.concatenate([*unsettled, present[:0]])), found)
        return found.in_order(len(values))

    def _read_lines(self, messages: pa.Array, index: NDArray[np.int64], found: _Found) -> list[NDArray[np.int64]]:
        """Adds what the batch reader decodes, and returns the indices of the other messages."""
        if self._exact_only:
            return [index]
        messages, usable = self._prepare(messages)
        unsettled = [index[~usable]]
        if not usable.all():
            messages, index = messages.filter(pa.array(usable)), index[usable]
        if not len(index) or self._settles(messages, index, found):
            return unsettled
        for start in range(0, len(index), _SMALL_BATCH):
            part = index[start : start + _SMALL_BATCH]
            if not self._settles(messages.slice(start, _SMALL_BATCH), part, found):
                unsettled.append(part)
        return unsettled

    def _settles(self, messages: pa.Array, index: NDArray[np.int64], found: _Found) -> bool:
        try:
            rows = self._read_batch(messages)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - led by the bytes of one message; the exact reader finds which, and why
            return False
        if rows is None:
            return False
        table, positions = rows
        found.add(index if positions is None else index[positions], table)
        return True

    def _read_exactly(self, values: pa.Array, index: NDArray[np.int64], found: _Found) -> None:
        if not len(index):
            return
        exactly = OneByOne(self._schema, self._rows, self._failure, self._ignores_errors)
        read = exactly.read(values, index.tolist(), found.unreadable)
        found.add(read.origin, read.table)
        found.passed_over += read.passed_over


class _Found:
    """Tables of rows from parts of a batch, and where each row comes from."""

    def __init__(self, schema: pa.Schema, unreadable: UnreadableMessages) -> None:
        self.unreadable = unreadable
        self.passed_over: list[int] = []
        self._schema = schema
        self._tables: list[pa.Table] = []
        self._origins: list[NDArray[np.int64]] = [np.empty(0, np.int64)]

    def add(self, origin: NDArray[np.int64], table: pa.Table) -> None:
        if len(origin):
            self._origins.append(origin)
            self._tables.append(table)

    def in_order(self, messages: int) -> Decoded:
        origin = np.concatenate(self._origins)
        if len(self._tables) == 1:
            table = self._tables[0]
        elif not self._tables or not self._schema.names:
            table = table_of([pa.array([], type_) for type_ in self._schema.types], self._schema, len(origin))
            origin.sort()
        else:
            order = np.argsort(origin, kind="stable")
            table = pa.concat_tables(self._tables).take(pa.array(order))
            origin = origin[order]
        identity = len(origin) == messages and bool((origin == np.arange(messages)).all())
        origins = None if identity else pa.array(origin)
        kinds = None
        if KIND in self._schema.names:
            table, kinds = table.drop_columns([KIND]), table[KIND].combine_chunks()
        return Decoded(table, origins, tuple(self.passed_over), kinds, self.unreadable.all())


def _parts(
    messages: pa.Array, index: NDArray[np.int64], sizes: NDArray[np.int32]
) -> list[tuple[pa.Array, NDArray[np.int64]]]:
    """The messages in slices whose joined text stays well below the limit of one Arrow value."""
    batch_of = (np.cumsum(sizes[index], dtype=np.int64) // _BATCH_BYTES).astype(np.int64)
    starts = np.flatnonzero(np.diff(batch_of, prepend=-1)).tolist()
    ends = [*starts, len(index)][1:]
    return [(messages.slice(start, end - start), index[start:end]) for start, end in zip(starts, ends, strict=True)]
