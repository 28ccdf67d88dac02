"""The column types that a Protocol Buffers field can be read into, by the rules of Flink's protobuf format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from millstream.sql.types import BINARIES, CHARACTER, INTEGERS, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable

_INT, _LONG, _DOUBLE, _FLOAT, _BOOL, _STRING, _ENUM, _MESSAGE, _BYTES = (5, 3, 1, 2, 8, 9, 14, 11, 12)
_KINDS: Final = {
    **dict.fromkeys((_INT, 13, 15, 17, 7), ("a 32-bit integer", frozenset({TypeRoot.INT}))),
    **dict.fromkeys((_LONG, 4, 16, 18, 6), ("a 64-bit integer", frozenset({TypeRoot.BIGINT}))),
    _DOUBLE: ("a double", frozenset({TypeRoot.DOUBLE})),
    _FLOAT: ("a float", frozenset({TypeRoot.FLOAT})),
    _BOOL: ("a bool", frozenset({TypeRoot.BOOLEAN})),
    _STRING: ("a string", CHARACTER),
    _BYTES: ("bytes", BINARIES),
    _ENUM: ("an enum", CHARACTER | INTEGERS),
}
"""The types of descriptor.proto by number."""
_ZEROS: Final = {_DOUBLE: 0.0, _FLOAT: 0.0, _BOOL: False, _BYTES: b""}


def mismatch(field: Any, type_: DataType, name: str) -> str | None:
    """Why a column does not match this field, or None."""
    if field is None:
        return f'The message has no field "{name}"'
    if is_map(field):
        if type_.root is not TypeRoot.MAP:
            return f'Field "{name}" is a map, and its column a MAP'
        assert type_.key is not None
        assert type_.element is not None
        entry = field.message_type.fields_by_name
        return mismatch(entry["key"], type_.key, name) or mismatch(entry["value"], type_.element, name)
    if is_repeated(field):
        if type_.root is not TypeRoot.ARRAY:
            return f'Field "{name}" is repeated, and its column an ARRAY'
        assert type_.element is not None
        return _single(field, type_.element, name)
    return _single(field, type_, name)


def _single(field: Any, type_: DataType, name: str) -> str | None:
    if field.type == _MESSAGE:
        if type_.root is not TypeRoot.ROW:
            return f'Field "{name}" is a message, and its column a ROW'
        inner = field.message_type.fields_by_name
        found = (mismatch(inner.get(part.name), part.type, f"{name}.{part.name}") for part in type_.fields)
        return next((why for why in found if why), None)
    if field.type not in _KINDS:
        return f'Field "{name}" is a group'
    kind, roots = _KINDS[field.type]
    return None if type_.root in roots else f'Field "{name}" is {kind}, which is {_enumerate(roots)}'


def _enumerate(roots: Iterable[TypeRoot]) -> str:
    return " or ".join(sorted(roots))


def is_map(field: Any) -> bool:
    return field.type == _MESSAGE and bool(field.message_type.GetOptions().map_entry)


def is_repeated(field: Any) -> bool:
    return bool(field.is_repeated)


def is_message(field: Any) -> bool:
    return bool(field.type == _MESSAGE)


def is_enum(field: Any) -> bool:
    return bool(field.type == _ENUM)


def is_text(field: Any) -> bool:
    return bool(field.type == _STRING)


def zero_of(field: Any) -> object:
    """The default of a type, whatever a .proto file says about a field."""
    return _ZEROS.get(field.type, 0)


def unsigned_bits(field: Any) -> int | None:
    """For a number that Java stores as a signed one of the same size."""
    return {13: 32, 7: 32, 4: 64, 6: 64}.get(field.type)
