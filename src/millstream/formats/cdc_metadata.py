"""The metadata of a change message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats import java_text
from millstream.formats.arrow_types import arrow_type
from millstream.formats.cdc_dialect import CdcMetadata, Reading
from millstream.sql.types import BIGINT, STRING, DataType, Field, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable

_ISO: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6})")
_SQL: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?: ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(\.[0-9]{0,9})?)?"
)
_MICROS_OF: Final = {Reading.EPOCH_MILLIS: 1000, Reading.EPOCH_SECONDS: 1_000_000}


def exact_fields(wanted: Iterable[CdcMetadata]) -> dict[str, DataType]:
    """The fields of a message to parse for these keys, as Flink parses them."""
    return {metadata.field: metadata.field_type for metadata in wanted}


def batch_fields(wanted: Iterable[CdcMetadata]) -> dict[str, DataType]:
    """As above; if only members of an object are needed, the object is a ROW of them."""
    fields: dict[str, DataType] = {}
    for metadata in wanted:
        before = fields.get(metadata.field)
        if metadata.member is None or (before is not None and before.root is not TypeRoot.ROW):
            fields[metadata.field] = metadata.field_type
            continue
        member = Field(metadata.member, BIGINT if metadata.reading in _MICROS_OF else STRING)
        members = () if before is None else before.fields
        if member not in members:
            members = (*members, member)
        fields[metadata.field] = DataType(TypeRoot.ROW, fields=members)
    return fields


def column_of(array: pa.Array, metadata: CdcMetadata) -> pa.Array:
    """The values of a key, from its field as the batch reader parses it."""
    if metadata.member is not None:
        array = pc.struct_field(array, metadata.member)
    type_ = arrow_type(metadata.type)
    if metadata.reading in _MICROS_OF:
        return pc.multiply_checked(array, _MICROS_OF[metadata.reading]).cast(type_)
    if metadata.reading is Reading.AS_IS:
        return array
    return pa.array([value_of(text, metadata) for text in array.to_pylist()], type_)


def value_of(value: object, metadata: CdcMetadata) -> object:
    """The value of a key, from its field as the exact reader parses it."""
    if metadata.member is not None and value is not None:
        assert isinstance(value, list)
        value = dict(value).get(metadata.member)
    if value is None:
        return None
    match metadata.reading:
        case Reading.AS_IS:
            return value
        case Reading.ISO_TEXT:
            return _iso_micros(str(value))
        case Reading.SQL_TEXT:
            micros = _sql_micros(str(value))
            return micros - micros % 1000
        case reading:
            micros = java_text.parse_integer(str(value)) * _MICROS_OF[reading]
            if not -(2**63) <= micros < 2**63:
                raise ValueError(f"{metadata.key} is out of range: {value}")
            return micros


def _iso_micros(text: str) -> int | None:
    """Truncated to milliseconds; a text in another form is parsed as in SQL, or is NULL."""
    try:
        if match := _ISO.fullmatch(text):
            micros = java_text.parse_timestamp(f"{match[1]} {match[2]}", java_text.SQL_TIMESTAMP)
            return micros - micros % 1000
        return _sql_micros(text.strip())
    except ValueError:
        return None


def _sql_micros(text: str) -> int:
    match = _SQL.fullmatch(text)
    if match is None:
        raise ValueError(f"Text '{text}' could not be parsed")
    year, month, day, hour, minute, second, fraction = match.groups()
    date = f"{year}-{month:0>2}-{day:0>2}"
    time = f"{hour or 0:0>2}:{minute or 0:0>2}:{second or 0:0>2}{fraction or ''}"
    return java_text.parse_timestamp(f"{date} {time}", java_text.SQL_TIMESTAMP)
