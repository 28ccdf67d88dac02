"""Decodes a whole batch of change messages: the envelope is parsed as JSON, then split into columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.changelog import RowKind
from millstream.formats.cdc_dialect import CdcMetadata, Change, Shape
from millstream.formats.cdc_exact import PAYLOAD
from millstream.formats.cdc_metadata import batch_fields, column_of
from millstream.formats.decoded import MOST_COPIED_BYTES
from millstream.formats.json_lines import JsonLinesReader
from millstream.formats.texts_to_values import UnsettledError
from millstream.sql.types import STRING, DataType, Field, TypeRoot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.formats.cdc_format import CdcJsonFormat

# An object of plain values: only then does a NULL in it mean what the table shows.
_FLAT_OLD: Final = {
    Shape.DATA_AND_OLD: r'"old"\s*:\s*(?P<old>\{[^{}\[\]]*\})',
    Shape.LISTS_OF_DATA_AND_OLD: r'"old"\s*:\s*\[\s*(?P<old>\{[^{}\[\]]*\})\s*\]',
}


class CdcBatchReader:
    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        format_: CdcJsonFormat,
        metadata: tuple[CdcMetadata, ...],
        schema: pa.Schema,
    ) -> None:
        self._dialect = format_.dialect
        self._options = format_.options
        self._metadata = metadata
        self._schema = schema
        self._words = pa.array([word for word, _ in self._dialect.changes])
        self._changes = np.array([change.value for _, change in self._dialect.changes])
        row = DataType(TypeRoot.ROW, fields=tuple(Field(name, type_) for name, type_ in columns))
        rows = DataType(TypeRoot.ARRAY, element=row) if self._dialect.shape is Shape.LISTS_OF_DATA_AND_OLD else row
        fields = {self._dialect.old_field: rows, self._dialect.new_field: rows, self._dialect.kind_field: STRING}
        self._includes = {
            field: re.compile(pattern)
            for field, pattern in (
                ("database", format_.options.database_include),
                ("table", format_.options.table_include),
            )
            if pattern is not None
        }
        fields |= dict.fromkeys(self._includes, STRING)
        inside = batch_fields(m for m in metadata if m.in_payload or not self._options.schema_include)
        envelope = tuple((fields | inside).items())
        if self._options.schema_include:
            payload = DataType(TypeRoot.ROW, fields=tuple(Field(name, type_) for name, type_ in envelope))
            envelope = ((PAYLOAD, payload), *batch_fields(m for m in metadata if not m.in_payload).items())
        # Canal writes all values as texts, whatever their type.
        quoted = [True, False] if self._dialect.shape is Shape.LISTS_OF_DATA_AND_OLD else [False]
        self._lines = [JsonLinesReader(envelope, format_.options.json, quoted_values=q) for q in quoted]
        self.able = self._lines[0].able

    def prepare(self, messages: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
        """The messages in the form that `read` needs, and which of them it can decode."""
        messages, usable = self._lines[0].prepare(messages)
        return messages, usable & self._settles_updates(messages)

    def _settles_updates(self, messages: pa.Array) -> NDArray[np.bool_]:
        """Which messages are not updates, or are updates whose old values can be distinguished from missing ones."""
        pattern = _FLAT_OLD.get(self._dialect.shape)
        if pattern is None:
            return np.ones(len(messages), np.bool_)
        others = ~self._plain_updates(messages)
        if others.all():
            return others
        old = pc.struct_field(pc.extract_regex(messages, pattern), "old")
        plain = pc.and_(pc.equal(pc.count_substring(messages, '"old"'), 1), pc.invert(pc.match_substring(old, "null")))
        return others | _mask(pc.fill_null(plain, False))

    def _plain_updates(self, messages: pa.Array) -> NDArray[np.bool_]:
        """Which messages contain the word for an update, written without escapes."""
        update = next(word for word, change in self._dialect.changes if change is Change.UPDATE)
        return _mask(pc.match_substring(messages, f'"{update}"'))

    def read(self, messages: pa.Array) -> tuple[pa.Table, NDArray[np.int64]] | None:
        """The rows with the index of their message; None if only the exact reader can decide."""
        envelope = next((read for lines in self._lines if (read := lines.read(messages)) is not None), None)
        if envelope is None:
            return None
        fields = {name: envelope[name].combine_chunks() for name in envelope.column_names}
        try:
            if self._options.schema_include:
                payload = _without_nulls(fields.pop(PAYLOAD))
                fields |= dict(zip((field.name for field in payload.type), payload.flatten(), strict=True))
            return self._rows(fields, messages)
        except (UnsettledError, pa.ArrowInvalid):
            return None

    def _rows(self, fields: dict[str, pa.Array], messages: pa.Array) -> tuple[pa.Table, NDArray[np.int64]]:
        changes, included = self._changes_of(fields)
        updates = changes == Change.UPDATE.value
        if self._dialect.shape in _FLAT_OLD and (updates & ~self._plain_updates(messages)).any():
            raise UnsettledError
        old, new = fields[self._dialect.old_field], fields[self._dialect.new_field]
        index = np.arange(len(changes))
        if self._dialect.shape is Shape.LISTS_OF_DATA_AND_OLD:
            index = index[included & (changes != Change.NONE.value)]
            index, old, new = _one_by_one(index, changes[index], old, new)
            changes = changes[index]
        elif not included.all():
            raise UnsettledError
        # The first row of a message has an even position, so that the row after an update has an odd one.
        rows = self._pieces(changes, old, new)
        order = np.argsort(np.concatenate([places for places, _, _ in rows]), kind="stable")
        structs = pa.concat_arrays([structs for _, structs, _ in rows]).take(pa.array(order))
        kinds = np.concatenate([kinds for _, _, kinds in rows])[order]
        origin = index[np.concatenate([places for places, _, _ in rows])[order] // 2]
        columns = [column_of(fields[metadata.field], metadata) for metadata in self._metadata]
        copies = int(np.bincount(origin, minlength=1).max())
        if copies * sum(column.nbytes for column in columns) > MOST_COPIED_BYTES:
            raise UnsettledError
        metadata_columns = [column.take(pa.array(origin)) for column in columns]
        arrays = [*structs.flatten(), *metadata_columns, pa.array(kinds, pa.int8())]
        return pa.Table.from_arrays(arrays, schema=self._schema), origin

    def _changes_of(self, fields: dict[str, pa.Array]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        codes = pc.index_in(_without_nulls(fields[self._dialect.kind_field]), self._words)
        included = np.ones(len(codes), np.bool_)
        for field, pattern in self._includes.items():
            names = _without_nulls(fields[field]).dictionary_encode()
            matching = np.array(
                [pattern.fullmatch(name) is not None for name in names.dictionary.to_pylist()], np.bool_
            )
            included &= matching[names.indices.to_numpy()] if len(names) else included
        if pc.any(pc.and_(pa.array(included), codes.is_null())).as_py():
            raise UnsettledError
        return self._changes[pc.fill_null(codes, 0).to_numpy()], included

    def _pieces(
        self, changes: NDArray[np.int64], old: pa.Array, new: pa.Array
    ) -> list[tuple[NDArray[np.int64], pa.Array, NDArray[np.int8]]]:
        """Retracted rows, then inserted rows: their positions, values and kinds."""
        updates, deletes = changes == Change.UPDATE.value, changes == Change.DELETE.value
        whole = self._dialect.shape is Shape.BEFORE_AND_AFTER
        taken_back, put_in = np.flatnonzero(updates | deletes), np.flatnonzero(~deletes)
        before = old if whole else _merge(old, new, updates)
        gone = _without_nulls(before.take(pa.array(taken_back)))
        kept = _without_nulls(new.take(pa.array(put_in)))
        kinds_gone = np.where(updates[taken_back], RowKind.UPDATE_BEFORE, RowKind.DELETE).astype(np.int8)
        kinds_kept = np.where(updates[put_in], RowKind.UPDATE_AFTER, RowKind.INSERT).astype(np.int8)
        return [(taken_back * 2, gone, kinds_gone), (put_in * 2 + 1, kept, kinds_kept)]


def _one_by_one(
    index: NDArray[np.int64], changes: NDArray[np.int64], old: pa.Array, new: pa.Array
) -> tuple[NDArray[np.int64], pa.Array, pa.Array]:
    """The rows of lists, each with the index of its message. An update has one row and its old values."""
    lists = _without_nulls(new.take(pa.array(index)))
    lengths = pc.list_value_length(lists).to_numpy()
    updates = changes == Change.UPDATE.value
    olds = old.take(pa.array(index))
    counts = pc.fill_null(pc.list_value_length(olds), 0).to_numpy()
    if not ((lengths[updates] == 1) & (counts[updates] == 1)).all():
        raise UnsettledError
    origin = np.repeat(index, lengths)
    firsts = np.repeat(np.where(updates, np.cumsum(counts) - counts, -1), lengths)
    places = pa.array(firsts, mask=firsts < 0)
    return origin, olds.flatten().take(places), lists.flatten()


def _merge(old: pa.Array, new: pa.Array, updates: NDArray[np.bool_]) -> pa.Array:
    """The rows before a change: for an update the old values if there are any, otherwise the new ones."""
    mask = pa.array(updates)
    if pc.any(pc.and_(mask, old.is_null())).as_py():
        raise UnsettledError
    fields = [
        pc.if_else(pc.and_(mask, before.is_valid()), before, after)
        for before, after in zip(old.flatten(), new.flatten(), strict=True)
    ]
    return pa.StructArray.from_arrays(fields, fields=list(new.type), mask=new.is_null())


def _without_nulls(array: pa.Array) -> pa.Array:
    if array.null_count:
        raise UnsettledError
    return array


def _mask(booleans: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = booleans.to_numpy(zero_copy_only=False)
    return mask
