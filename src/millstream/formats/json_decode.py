"""Kafka values in the `json` format, read into Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.decoded import Decoded, DecodeError, shown
from millstream.formats.json_exact import ExactJsonReader
from millstream.formats.json_lines import JsonLinesReader, plausible
from millstream.formats.json_options import JsonOptions
from millstream.formats.json_types import check_types

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.sql.types import DataType

# After a failed batch the odd message costs at most so many exact reads.
_SMALL_BATCH: Final = 256
_BATCH_BYTES: Final = 1 << 28


class JsonDecoder:
    """Reads JSON objects (or arrays of them) into rows with the given columns, by Flink's rules."""

    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        options: JsonOptions = JsonOptions(),  # noqa: B008
    ) -> None:
        check_types(columns)
        self._columns = columns
        self._options = options
        self._schema = arrow_schema(columns)
        self._lines = JsonLinesReader(columns, options)
        self._exact = ExactJsonReader(columns, options)
        self._exact_only = not self._lines.able

    def __reduce__(self) -> tuple[object, ...]:
        return JsonDecoder, (self._columns, self._options)

    def decode(self, values: pa.Array) -> Decoded:
        """The rows of the messages; NULL and empty ones have none. Raises DecodeError for a bad one."""
        sizes = pc.fill_null(pc.binary_length(values), 0).to_numpy()
        present = np.flatnonzero(sizes)
        messages = values if len(present) == len(values) else values.take(pa.array(present))
        found = _Found(self._schema)
        unsettled = [
            rest
            for part in _parts(messages.cast(pa.binary()), present, sizes)
            for rest in self._read_lines(*part, found)
        ]
        self._read_exactly(values, np.sort(np.concatenate([*unsettled, present[:0]])), found)
        return found.in_order(len(values))

    def _read_lines(self, messages: pa.Array, index: NDArray[np.int64], found: _Found) -> list[NDArray[np.int64]]:
        """Adds what the batch reader settles, and returns the indices of the other messages."""
        if self._exact_only:
            return [index]
        usable = plausible(messages)
        if not usable.all():
            messages = _trimmed(messages)
            usable = plausible(messages)
        unsettled = [index[~usable]]
        if not usable.all():
            messages, index = messages.filter(pa.array(usable)), index[usable]
        if (table := self._lines.read(messages)) is not None:
            found.add(index, table)
            return unsettled
        for start in range(0, len(index), _SMALL_BATCH):
            part = index[start : start + _SMALL_BATCH]
            if (table := self._lines.read(messages.slice(start, _SMALL_BATCH))) is not None:
                found.add(part, table)
            else:
                unsettled.append(part)
        return unsettled

    def _read_exactly(self, values: pa.Array, index: NDArray[np.int64], found: _Found) -> None:
        if not len(index):
            return
        rows: list[list[object]] = []
        origin: list[int] = []
        for i in index.tolist():
            message: bytes = values[i].as_py()
            try:
                new_rows, complete = self._exact.rows(message)
            except (ValueError, RecursionError) as error:
                if not self._options.ignore_parse_errors:
                    text = f"Failed to deserialize JSON '{shown(message)}'. {error}"
                    raise DecodeError(i, text) from None
                new_rows, complete = [], False
            rows += new_rows
            origin += [i] * len(new_rows)
            found.skipped += not complete
        arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(self._schema)]
        found.add(np.array(origin, np.int64), _table(arrays, self._schema, len(rows)))


class _Found:
    """Tables of rows gathered from parts of a batch, and where each row comes from."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._tables: list[pa.Table] = []
        self._origins: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        self.skipped = 0

    def add(self, origin: NDArray[np.int64], table: pa.Table) -> None:
        if len(origin):
            self._origins.append(origin)
            self._tables.append(table)

    def in_order(self, messages: int) -> Decoded:
        origin = np.concatenate(self._origins)
        if len(self._tables) == 1:
            table = self._tables[0]
        elif not self._tables or not self._schema.names:
            table = _table([pa.array([], type_) for type_ in self._schema.types], self._schema, len(origin))
            origin.sort()
        else:
            order = np.argsort(origin, kind="stable")
            table = pa.concat_tables(self._tables).take(pa.array(order))
            origin = origin[order]
        identity = len(origin) == messages and bool((origin == np.arange(messages)).all())
        return Decoded(table, None if identity else pa.array(origin), self.skipped)


def _table(arrays: list[pa.Array], schema: pa.Schema, rows: int) -> pa.Table:
    if arrays:
        return pa.Table.from_arrays(arrays, schema=schema)
    return pa.table({"": pa.nulls(rows)}).select([])


def _trimmed(messages: pa.Array) -> pa.Array:
    try:
        texts = messages.cast(pa.string())
    except pa.ArrowInvalid:
        return messages
    return pc.ascii_trim(texts, characters=" \t\r\n").cast(pa.binary())


def _parts(
    messages: pa.Array, index: NDArray[np.int64], sizes: NDArray[np.int32]
) -> list[tuple[pa.Array, NDArray[np.int64]]]:
    """The messages in slices whose joined text stays well below the limit of one Arrow value."""
    batch_of = (np.cumsum(sizes[index], dtype=np.int64) // _BATCH_BYTES).astype(np.int64)
    starts = np.flatnonzero(np.diff(batch_of, prepend=-1)).tolist()
    ends = [*starts, len(index)][1:]
    return [(messages.slice(start, end - start), index[start:end]) for start, end in zip(starts, ends, strict=True)]
