"""Limits what an Avro message can demand of its reader, which trusts every count and follows any nesting.

Most schemas bound the work by themselves: an item takes a byte, and nesting ends with the schema. If a record contains
itself, or items take no bytes, a message is walked through before it is decoded.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

_DEEPEST: Final = 2000
"""Well below what the stack of a thread can hold."""
_MOST_EMPTY_PARTS: Final = 1 << 16
_SIZES: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_NUMBERS: Final = frozenset({"int", "long"})
_LONGEST_NUMBER: Final = 10
_GOES_ON: Final = bytes(128) + b"\1" * 128
"""The bit of a byte that says whether the number continues in the next one."""
_TOO_LONG: Final = b"\1" * _LONGEST_NUMBER


class _Extent(NamedTuple):
    """How far a datum of a schema can extend."""

    empty_parts: int = 0
    """Nulls and other parts that take no bytes, not counting those of items."""
    empty_parts_of_an_item: int = 0
    takes_bytes: bool = True
    is_open: bool = False
    """Whether it contains itself, or items that take no bytes."""


_OPEN: Final = _Extent(is_open=True)


class AvroBounds:
    """The bounds of one schema as fastavro has parsed it, with full names of types."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._named: dict[str, Any] = {}
        self._extents: dict[str, _Extent] = {}
        extent = self._extent(schema)
        self._is_open = extent.is_open
        self._empty_parts = extent.empty_parts, extent.empty_parts_of_an_item

    def check(self, data: bytes, start: int) -> None:
        """Raises ValueError if decoding the message would be unbounded or incorrect."""
        if self._needs_walk(len(data) - start) or _may_have_long_number(data, start):
            self.walk(data, start)

    def walk(self, data: bytes, start: int) -> None:
        """Raises ValueError if the bytes are not a datum of the schema; does not check that texts are UTF-8."""
        _Walk(self._named, data, start).run(self._schema)

    def _needs_walk(self, size: int) -> bool:
        """Whether a message of this size may contain too much: an item takes at least one byte."""
        once, per_item = self._empty_parts
        return self._is_open or once + per_item * size > _MOST_EMPTY_PARTS

    def _extent(self, schema: Any) -> _Extent:
        if isinstance(schema, list):
            # A null has taken the byte of its branch.
            branches = [self._extent(branch) for branch in schema if branch != "null"]
            return _Extent(
                max((branch.empty_parts for branch in branches), default=0),
                max((branch.empty_parts_of_an_item for branch in branches), default=0),
                is_open=any(branch.is_open for branch in branches),
            )
        if isinstance(schema, str):
            return self._extents.get(schema, _Extent(int(schema == "null"), takes_bytes=schema != "null"))
        match schema["type"]:
            case "array" | "map" as kind:
                inner = self._extent(schema["items" if kind == "array" else "values"])
                is_open = inner.is_open or (kind == "array" and not inner.takes_bytes)
                return _Extent(0, max(inner.empty_parts, inner.empty_parts_of_an_item), is_open=is_open)
            case "record" | "error":
                return self._record_extent(schema)
            case "fixed" | "enum" as kind:
                takes_bytes = kind == "enum" or schema["size"] > 0
                self._named[schema["name"]] = schema
                return self._extents.setdefault(schema["name"], _Extent(int(not takes_bytes), 0, takes_bytes))
            case kind:
                return self._extent(kind)

    def _record_extent(self, schema: Any) -> _Extent:
        self._named[schema["name"]] = schema
        self._extents[schema["name"]] = _OPEN  # until it is complete, a record of this name is inside itself
        fields = [self._extent(field["type"]) for field in schema["fields"]]
        takes_bytes = any(field.takes_bytes for field in fields)
        empty_parts = sum(field.empty_parts for field in fields) or int(not takes_bytes)
        of_an_item = max((field.empty_parts_of_an_item for field in fields), default=0)
        extent = _Extent(empty_parts, of_an_item, takes_bytes, any(field.is_open for field in fields))
        self._extents[schema["name"]] = extent
        return extent


def _may_have_long_number(data: bytes, start: int) -> bool:
    """fastavro reads a number for as long as its bytes continue, and accepts the result.

    Non-ASCII text in UTF-8 has the same continuation bit, so valid text is not counted; a number never looks like it.
    """
    goes_on = data.translate(_GOES_ON)
    at = goes_on.find(_TOO_LONG, start)
    while at >= 0:
        end = goes_on.find(b"\0", at)
        run = data[at : end if end >= 0 else None]
        if len(run) - _length_of_text(run) >= _LONGEST_NUMBER:
            return True
        at = goes_on.find(_TOO_LONG, at + len(run))
    return False


def _length_of_text(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(data)


class _Items:
    """The items of an array or map, each with these parts; some of the current block are still to come."""

    __slots__ = ("left", "parts")

    def __init__(self, *parts: Any) -> None:
        self.parts = parts
        self.left = 0


class _Walk:
    """Walks through one message without recursion: what is to come is on a stack, with its depth."""

    def __init__(self, named: dict[str, Any], data: bytes, start: int) -> None:
        self._named = named
        self._data = data
        self._at = start
        self._empty_parts = 0
        self._stack: list[tuple[Any, int]] = []

    def run(self, schema: Any) -> None:
        self._stack.append((schema, 1))
        while self._stack:
            part, depth = self._stack.pop()
            if depth > _DEEPEST:
                raise ValueError(f"The record is nested more than {_DEEPEST} levels deep")
            if isinstance(part, _Items):
                self._next_item(part, depth)
            elif isinstance(part, list):
                self._union(part, depth)
            else:
                self._pass(self._named.get(part, part) if isinstance(part, str) else part, depth)

    def _union(self, branches: list[Any], depth: int) -> None:
        number = self._number()
        if not 0 <= number < len(branches):
            raise ValueError(f"The union has no branch {number}")
        if branches[number] != "null":  # which has taken the byte of its branch
            self._stack.append((branches[number], depth + 1))

    def _pass(self, schema: Any, depth: int) -> None:
        match schema["type"] if isinstance(schema, dict) else schema:
            case "record" | "error":
                self._stack += [(field["type"], depth + 1) for field in reversed(schema["fields"])]
                if not schema["fields"]:
                    self._skip(0)
            case "array":
                self._stack.append((_Items(schema["items"]), depth + 1))
            case "map":
                self._stack.append((_Items("string", schema["values"]), depth + 1))
            case "fixed":
                self._skip(schema["size"])
            case "bytes" | "string":
                self._take(self._number())
            case "enum":
                if not 0 <= (number := self._number()) < len(schema["symbols"]):
                    raise ValueError(f"The enum has no symbol {number}")
            case kind if kind in _NUMBERS:
                self._number()
            case kind:
                self._skip(_SIZES[kind])

    def _next_item(self, items: _Items, depth: int) -> None:
        """Pushes the next item on the stack, above what follows it."""
        if items.left == 0:
            count = self._number()
            if count < 0:
                self._number()
            if count == 0:
                return
            items.left = abs(count)
        items.left -= 1
        self._stack.append((items, depth))
        self._stack += [(part, depth) for part in reversed(items.parts)]

    def _skip(self, size: int) -> None:
        if size == 0:
            self._empty_parts += 1
            if self._empty_parts > _MOST_EMPTY_PARTS:
                raise ValueError(f"The record has more than {_MOST_EMPTY_PARTS} parts that take no bytes")
        self._take(size)

    def _take(self, size: int) -> None:
        if not 0 <= size <= len(self._data) - self._at:
            raise ValueError(f"{size} bytes are announced, but only {len(self._data) - self._at} are left")
        self._at += size

    def _number(self) -> int:
        value = 0
        for place in range(_LONGEST_NUMBER):
            if self._at == len(self._data):
                break
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:  # noqa: PLR2004
                return (value >> 1) ^ -(value & 1)
        else:
            raise ValueError(f"A number takes more than {_LONGEST_NUMBER} bytes")
        raise ValueError("The record ends too early")
