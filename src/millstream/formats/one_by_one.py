"""Decodes messages one at a time, so that a problem with one affects only that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from millstream.changelog import KIND
from millstream.formats.decoded import Decoded, UnreadableMessages, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Rows = Sequence[Sequence[object]]


class UnavailableError(Exception):
    """Something needed for decoding does not respond: not a problem of a message."""


@dataclass(frozen=True, slots=True)
class RowsOfMessages:
    """`origin` has the index of the message of each row."""

    table: pa.Table
    origin: NDArray[np.int64]
    passed_over: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Reads messages by `rows_of`, which gives a message's rows and whether all of it was read, or raises the cause.

    A reader may raise anything for the bytes it is led by: only what is no message's fault passes through here.
    """

    schema: pa.Schema
    rows_of: Callable[[bytes], tuple[Rows, bool]]
    failure: Callable[[bytes, Exception], str]
    """The reason why a message cannot be decoded."""
    ignores_errors: bool = False

    def read(self, values: pa.Array, index: Iterable[int], unreadable: UnreadableMessages) -> RowsOfMessages:
        rows: dict[int, Rows] = {}
        passed_over: set[int] = set()

        def fail(i: int, cause: Exception) -> None:
            rows.pop(i, None)
            if self.ignores_errors:
                passed_over.add(i)
            else:
                unreadable.add(i, self.failure(values[i].as_py(), cause))

        for i in index:
            try:
                rows[i], complete = self.rows_of(values[i].as_py())
            except (MemoryError, UnavailableError):
                raise
            except Exception as error:  # noqa: BLE001
                fail(i, error)
                continue
            if not complete:
                passed_over.add(i)
        table = self._table(rows, fail)
        origin = np.repeat(np.array([*rows], np.int64), [len(found) for found in rows.values()])
        return RowsOfMessages(table, origin, tuple(sorted(passed_over)))

    def _table(self, rows: dict[int, Rows], fail: Callable[[int, Exception], None]) -> pa.Table:
        """Removes those from `rows` that Arrow cannot represent."""
        try:
            return self._convert(rows.values())
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - it says nothing of where
            for i, found in list(rows.items()):
                try:
                    self._convert([found])
                except Exception as error:  # noqa: BLE001
                    fail(i, error)
        return self._convert(rows.values())

    def _convert(self, messages: Iterable[Rows]) -> pa.Table:
        rows = [row for found in messages for row in found]
        arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(self.schema)]
        return table_of(arrays, self.schema, len(rows))


def decode_each(values: pa.Array, reading: OneByOne, *, sets_aside: bool) -> Decoded:
    """The rows of the messages; NULL has none. The schema may have a column KIND."""
    unreadable = UnreadableMessages(sets_aside=sets_aside)
    present = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False)).tolist()
    read = reading.read(values, present, unreadable)
    table, kinds = read.table, None
    if KIND in table.column_names:
        table, kinds = table.drop_columns([KIND]), table[KIND].combine_chunks()
    identity = np.array_equal(read.origin, np.arange(len(values)))
    return Decoded(table, None if identity else pa.array(read.origin), read.passed_over, kinds, unreadable.all())
