"""Guesses what the bytes of a key or a value are, and makes values of them that can be shown."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import fastavro

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.formats.confluent_codec import schema_number
from millstream.formats.schema_registry import NoSchemaError, RegistryError, SchemaRegistry

if TYPE_CHECKING:
    from millstream.formats.confluent_format import RegistryOptions

_HEAD_BYTES: Final = 5
_MANY_SCHEMAS: Final = 1 << 24
"""Ids of schemas are small: bytes that would be a larger one are something else."""


class Encoding(StrEnum):
    NONE = "none"
    JSON = "json"
    AVRO = "avro-confluent"
    TEXT = "text"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Payload:
    """`value` is what JSON or Avro say, a text, or bytes."""

    encoding: Encoding
    value: Any = None
    schema: int | None = None
    """The id of an Avro schema, whether or not there is a registry to ask."""

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, dict)


_NOTHING: Final = Payload(Encoding.NONE)


@dataclass(frozen=True)
class PayloadReader:
    """With a registry, Avro with the id of its schema is read; without one it is shown as bytes."""

    registry: RegistryOptions | None = None
    _parsed: dict[int, Any] = field(default_factory=dict, repr=False)

    def read(self, content: bytes | None) -> Payload:
        if content is None:
            return _NOTHING
        if (number := _schema_id(content)) is not None:
            return self._read_avro(number, content)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return Payload(Encoding.BYTES, content)
        try:
            return Payload(Encoding.JSON, json.loads(text))
        except (ValueError, RecursionError):
            is_text = all(character.isprintable() or character in "\t\r\n" for character in text)
            return Payload(Encoding.TEXT, text) if is_text else Payload(Encoding.BYTES, content)

    @cached_property
    def _registry(self) -> SchemaRegistry:
        assert self.registry is not None
        return SchemaRegistry(self.registry)

    def _read_avro(self, number: int, content: bytes) -> Payload:
        unread = Payload(Encoding.BYTES, content, number)
        if self.registry is None:
            return unread
        if number not in self._parsed:
            try:
                self._parsed[number] = fastavro.parse_schema(self._registry.schema_of(number))
            except NoSchemaError:
                self._parsed[number] = None
            except RegistryError as error:
                raise ScriptError(
                    Diagnostic(
                        Code.BAD_ARGUMENT,
                        "the schema registry cannot be asked",
                        detail=str(error),
                        hint="Correct --registry, or leave it out to see the bytes.",
                    )
                ) from error
        if self._parsed[number] is None:
            return unread
        try:
            value = fastavro.schemaless_reader(io.BytesIO(content[_HEAD_BYTES:]), self._parsed[number], None)
        except Exception:  # noqa: BLE001 - the reader raises whatever the bytes lead it to
            return unread
        return Payload(Encoding.AVRO, value, number)


def _schema_id(content: bytes) -> int | None:
    """What may be the id of an Avro schema."""
    if len(content) < _HEAD_BYTES or content[0] != 0:
        return None
    number = schema_number(content)
    return number if 0 < number < _MANY_SCHEMAS else None
