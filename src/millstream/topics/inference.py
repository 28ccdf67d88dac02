"""A table that reads a topic, inferred from a sample of its messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.topics.inferred_types import STRING, InferredType, infer_type
from millstream.topics.payloads import Encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from millstream.topics.rows import ReadMessage

MESSAGE, MESSAGE_KEY = "message", "message_key"
_EARLIEST_MS, _LATEST_MS = 1_000_000_000_000, 10_000_000_000_000
"""2001 to 2286: what may be milliseconds since the epoch."""
_NAMES_OF_TIMES: Final = ("time", "ts", "date", "created", "updated", "at")


@dataclass(frozen=True, slots=True)
class InferredColumn:
    name: str
    type: InferredType
    expression: str | None = None
    """Of a computed column."""


@dataclass(frozen=True, slots=True)
class InferredTable:
    columns: tuple[InferredColumn, ...]
    options: Mapping[str, str]
    primary_key: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows in the values of a topic, and the format that reads them."""

    options: dict[str, str]
    of: Callable[[Any], list[dict[str, Any]]]


def infer_table(messages: Sequence[ReadMessage], *, is_compacted: bool) -> InferredTable:
    """Its options lack what a table needs to reach the topic."""
    values = [read.value.value for read in messages if read.message.value is not None]
    encodings = {read.value.encoding for read in messages if read.message.value is not None}
    rows = _rows_in(values, encodings)
    if rows is None:
        return _infer_texts(values, encodings)
    found = [row for value in values for row in rows.of(value)]
    names = dict.fromkeys(name for row in found for name in row)
    columns = [InferredColumn(name, infer_type(row.get(name) for row in found)) for name in names]
    options = dict(rows.options)
    if any(column.type.is_iso for column in columns):
        options[f"{options['format']}.timestamp-format.standard"] = "ISO-8601"
    table = InferredTable((*columns, *_event_time(columns, found)), options)
    return _add_key(table, messages, is_compacted=is_compacted)


def _rows_in(values: Sequence[Any], encodings: set[Encoding]) -> Rows | None:
    """None if the values are no objects."""
    if not values or not all(isinstance(value, dict) for value in values):
        return None
    if encodings == {Encoding.AVRO}:
        return Rows({"format": "avro-confluent"}, lambda value: [value])
    if all(_is_debezium(value) for value in values):
        return Rows({"format": "debezium-json"}, _images)
    if all(_is_debezium(value.get("payload")) for value in values):
        options = {"format": "debezium-json", "debezium-json.schema-include": "true"}
        return Rows(options, lambda value: _images(value["payload"]))
    if all(
        {"database", "table", "type", "data"} <= value.keys() and isinstance(value["data"], dict) for value in values
    ):
        return Rows({"format": "maxwell-json"}, lambda value: [value["data"]])
    return Rows({"format": "json"}, lambda value: [value])


def _is_debezium(value: Any) -> bool:
    return isinstance(value, dict) and "op" in value and ("before" in value or "after" in value)


def _images(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [image for side in ("before", "after") if isinstance(image := value.get(side), dict)]


def _infer_texts(values: Sequence[Any], encodings: set[Encoding]) -> InferredTable:
    is_text = Encoding.BYTES not in encodings
    column = InferredColumn(MESSAGE, InferredType(STRING if is_text else "BYTES"))
    if not values:
        note = "the sample has no values to infer columns from"
    else:
        note = "the messages are neither objects in JSON nor Avro of a registry; csv, avro or protobuf may fit"
    return InferredTable((column,), {"format": "raw"}, notes=(note,))


def _event_time(columns: Sequence[InferredColumn], rows: Sequence[dict[str, Any]]) -> tuple[InferredColumn, ...]:
    """A column of times in milliseconds since the epoch as a timestamp, if there is no other timestamp."""
    if any(column.type.sql.startswith("TIMESTAMP") for column in columns):
        return ()
    for column in columns:
        numbers = [row[column.name] for row in rows if row.get(column.name) is not None]
        is_time = column.type.sql == "BIGINT" and all(_EARLIEST_MS <= number < _LATEST_MS for number in numbers)
        if is_time and any(part in column.name.lower() for part in _NAMES_OF_TIMES):
            return (InferredColumn("event_time", InferredType("TIMESTAMP_LTZ(3)"), column.name),)
    return ()


def _add_key(table: InferredTable, messages: Sequence[ReadMessage], *, is_compacted: bool) -> InferredTable:
    if any(read.message.key is None for read in messages):
        return table
    is_changelog = table.options["format"] not in {"json", "avro-confluent"}
    fields = _key_fields(table, messages)
    is_upserted = is_compacted or any(read.message.value is None for read in messages)
    if is_changelog or not is_upserted:
        note = f"each message has a key, which holds {', '.join(fields)}" if fields else "each message has a key"
        return InferredTable(table.columns, table.options, notes=(f"{note}; 'key.format' and 'key.fields' read it",))
    value = {f"value.{name}": setting for name, setting in table.options.items()}
    if fields:
        key_format = "avro-confluent" if messages[0].key.encoding is Encoding.AVRO else "json"
        missing = [name for name in fields if name not in {column.name for column in table.columns}]
        own = tuple(InferredColumn(name, infer_type(read.key.value.get(name) for read in messages)) for name in missing)
        include = {"value.fields-include": "EXCEPT_KEY"} if missing else {}
        return InferredTable((*own, *table.columns), {"key.format": key_format, **value, **include}, fields)
    key = InferredColumn(MESSAGE_KEY, InferredType(STRING))
    options = {"key.format": "raw", **value, "value.fields-include": "EXCEPT_KEY"}
    return InferredTable((key, *table.columns), options, (MESSAGE_KEY,))


def _key_fields(table: InferredTable, messages: Sequence[ReadMessage]) -> tuple[str, ...]:
    """Of keys that are objects with the same fields, all of them in the values or none."""
    if not all(read.key.is_object for read in messages):
        return ()
    fields = tuple(messages[0].key.value)
    known = {column.name for column in table.columns}
    alike = all(tuple(read.key.value) == fields for read in messages)
    return fields if alike and (known.issuperset(fields) or known.isdisjoint(fields)) else ()
