"""Finds the decoder and encoder of a format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.formats.avro_decode import AvroDecoder
from millstream.formats.avro_encode import AvroEncoder
from millstream.formats.avro_format import AvroFormat, AvroJsonFormat
from millstream.formats.avro_json import AvroJsonDecoder, AvroJsonEncoder
from millstream.formats.cdc_decode import CdcJsonDecoder
from millstream.formats.cdc_encode import CdcJsonEncoder
from millstream.formats.cdc_format import CdcJsonFormat
from millstream.formats.confluent_codec import ConfluentAvroDecoder, ConfluentAvroEncoder
from millstream.formats.confluent_format import ConfluentAvroFormat
from millstream.formats.csv_decode import CsvDecoder
from millstream.formats.csv_encode import CsvEncoder
from millstream.formats.csv_format import CsvFormat
from millstream.formats.json_decode import JsonDecoder
from millstream.formats.json_encode import JsonEncoder
from millstream.formats.json_format import JsonFormat
from millstream.formats.protobuf_codec import ProtobufDecoder, ProtobufEncoder
from millstream.formats.protobuf_format import ProtobufFormat
from millstream.formats.raw_codec import RawDecoder, RawEncoder
from millstream.formats.raw_format import RawFormat

if TYPE_CHECKING:
    from millstream.formats.declaration import Format
    from millstream.formats.decoded import Decoder, Encoder
    from millstream.sql.types import DataType


def decoder_of(
    format_: Format,
    columns: tuple[tuple[str, DataType], ...],
    needed: tuple[str, ...],
    metadata: tuple[tuple[str, str], ...] = (),
) -> Decoder:
    """A decoder from messages with these columns to the needed ones.

    `metadata` are the names of further columns, each with its key in the format.
    """
    types = dict(columns)
    chosen = tuple((name, types[name]) for name in needed)
    match format_:
        case JsonFormat(options):
            return JsonDecoder(chosen, options)
        case CdcJsonFormat():
            return CdcJsonDecoder(chosen, format_, metadata)
        case ConfluentAvroFormat():
            return ConfluentAvroDecoder(chosen, format_)
        case CsvFormat(options):
            return CsvDecoder(columns, options, needed)
        case RawFormat(options):
            return RawDecoder(columns, options, needed)
        case AvroFormat():
            return AvroDecoder(columns, needed)
        case AvroJsonFormat():
            return AvroJsonDecoder(columns, needed, legacy_timestamps=format_.legacy_timestamps)
        case ProtobufFormat():
            return ProtobufDecoder(columns, format_, needed)
        case _:
            raise TypeError(f"format '{format_.name}' has no decoder")


def encoder_of(format_: Format, columns: tuple[tuple[str, DataType], ...]) -> Encoder:
    """An encoder from rows with these columns to messages."""
    match format_:
        case JsonFormat(options):
            return JsonEncoder(columns, options)
        case CdcJsonFormat():
            return CdcJsonEncoder(columns, format_)
        case ConfluentAvroFormat():
            return ConfluentAvroEncoder(columns, format_)
        case CsvFormat(options):
            return CsvEncoder(columns, options)
        case RawFormat(options):
            return RawEncoder(columns, options)
        case AvroFormat():
            return AvroEncoder(columns)
        case AvroJsonFormat():
            return AvroJsonEncoder(columns, legacy_timestamps=format_.legacy_timestamps)
        case ProtobufFormat():
            return ProtobufEncoder(columns, format_)
        case _:
            raise TypeError(f"format '{format_.name}' has no encoder")
