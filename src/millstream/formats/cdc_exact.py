"""Decodes one change message at a time, by exactly the rules of Flink's CDC formats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from millstream.changelog import RowKind
from millstream.formats.cdc_changes import Row, before_and_after, change_of, whole_row
from millstream.formats.cdc_dialect import CdcMetadata, Change, Shape
from millstream.formats.cdc_metadata import exact_fields, value_of
from millstream.formats.decoded import MOST_COPIED_BYTES
from millstream.formats.json_exact import ExactJsonReader
from millstream.formats.json_tokens import JsonObject, parse_tree, token_text
from millstream.formats.value_count import ValueCount
from millstream.sql.types import STRING, DataType, Field, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.formats.cdc_format import CdcJsonFormat

PAYLOAD = "payload"


class ExactCdcReader:
    """Decodes messages to rows: the values of the columns, then of the metadata, then the kind."""

    def __init__(
        self, columns: tuple[tuple[str, DataType], ...], format_: CdcJsonFormat, metadata: tuple[CdcMetadata, ...]
    ) -> None:
        self._dialect = format_.dialect
        self._options = format_.options
        self._names = [name for name, _ in columns]
        self._metadata = metadata
        self._count = ValueCount()
        row = DataType(TypeRoot.ROW, fields=tuple(Field(name, type_) for name, type_ in columns))
        rows = DataType(TypeRoot.ARRAY, element=row) if self._dialect.shape is Shape.LISTS_OF_DATA_AND_OLD else row
        envelope = {self._dialect.old_field: rows, self._dialect.new_field: rows, self._dialect.kind_field: STRING}
        payload = envelope | exact_fields(m for m in metadata if m.in_payload or not self._options.schema_include)
        self._payload = _EnvelopeReader(payload, format_, self._count)
        outside = exact_fields(m for m in metadata if not m.in_payload)
        self._root = _EnvelopeReader(outside, format_, self._count) if self._options.schema_include else None

    def rows(self, message: bytes) -> tuple[list[list[object]], bool]:
        """The rows of a message, and whether all of it was decoded. Raises the cause."""
        self._count.begin(message)
        rows: list[list[object]] = []
        try:
            rows.extend(self._read(message))
        except ValueError:
            # Flink emits what it had decoded of a message when it met the error.
            if not self._options.json.ignore_parse_errors:
                raise
            return rows, False
        return rows, True

    def _read(self, message: bytes) -> Iterator[list[object]]:
        root = _object(parse_tree(message, exact_fractions=self._payload.exact_fractions), "The message")
        if not self._is_included(root):
            return
        values: dict[str, object] = {}
        payload = root
        if self._root is not None:
            values = self._root.read(root)
            payload = _object(dict(root).get(PAYLOAD), f'The "{PAYLOAD}" field')
        values |= self._payload.read(payload)
        metadata_values = [value_of(values[metadata.field], metadata) for metadata in self._metadata]
        if isinstance(rows := values[self._dialect.new_field], list):
            _check_copies(metadata_values, len(rows))
        for kind, row in self._read_changes(values, payload):
            yield [*(row[name] for name in self._names), *metadata_values, kind]

    def _is_included(self, root: JsonObject) -> bool:
        members = dict(root)
        for field, pattern in (("database", self._options.database_include), ("table", self._options.table_include)):
            if pattern is None:
                continue
            if field not in members:
                raise ValueError(f'The "{field}" field is missing')
            name = "null" if members[field] is None else token_text(members[field])
            if re.fullmatch(pattern, name) is None:
                return False
        return True

    def _read_changes(self, values: dict[str, object], payload: JsonObject) -> Iterator[tuple[RowKind, Row]]:
        change = change_of(values[self._dialect.kind_field], self._dialect)
        old, new = values[self._dialect.old_field], values[self._dialect.new_field]
        if change is Change.NONE:
            return
        written = _names_within(dict(payload).get("old")) if change is Change.UPDATE else frozenset()
        if self._dialect.shape is Shape.BEFORE_AND_AFTER:
            yield from before_and_after(change, old, new)
        elif self._dialect.shape is Shape.DATA_AND_OLD:
            yield from self._data_and_old(change, new, old, written)
        else:
            olds = old if isinstance(old, list) else []
            for i, data in enumerate(_list(new, self._dialect.new_field)):
                yield from self._data_and_old(change, data, olds[i] if i < len(olds) else None, written)

    def _data_and_old(
        self, change: Change, data: object, old: object, written: frozenset[str]
    ) -> Iterator[tuple[RowKind, Row]]:
        if change is not Change.UPDATE:
            yield (RowKind.INSERT if change is Change.INSERT else RowKind.DELETE), whole_row(data, "data")
            return
        after, changed = whole_row(data, "data"), whole_row(old, "old")
        before = {
            name: after[name] if value is None and name not in written else value for name, value in changed.items()
        }
        yield RowKind.UPDATE_BEFORE, before
        yield RowKind.UPDATE_AFTER, after


class _EnvelopeReader:
    """Reads the named fields of an object."""

    def __init__(self, fields: dict[str, DataType], format_: CdcJsonFormat, count: ValueCount) -> None:
        self._names = list(fields)
        self._reader = ExactJsonReader(tuple(fields.items()), format_.options.json, of_trees=True, count=count)
        self.exact_fractions = self._reader.exact_fractions

    def read(self, members: JsonObject) -> dict[str, object]:
        return dict(zip(self._names, self._reader.row_of(members), strict=True))


def _names_within(value: object) -> frozenset[str]:
    """The names of all members of objects anywhere in the value, which is where Flink looks for a column."""
    names: set[str] = set()
    left = [value]
    while left:
        found = left.pop()
        if isinstance(found, JsonObject):
            names.update(name for name, _ in found)
            left += [inner for _, inner in found]
        elif isinstance(found, list):
            left += found
    return frozenset(names)


def _check_copies(metadata_values: list[object], rows: int) -> None:
    """Each row of a list repeats the metadata of its message."""
    if rows * len(repr(metadata_values)) > MOST_COPIED_BYTES:
        raise ValueError(f"With its metadata each of the {rows} rows is too large")


def _object(value: object, what: str) -> JsonObject:
    if not isinstance(value, JsonObject):
        raise ValueError(f"{what} is not a JSON object")  # noqa: TRY004
    return value


def _list(value: object, field: str) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f'The "{field}" field is missing or null')  # noqa: TRY004
    return value
