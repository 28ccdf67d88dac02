"""The recordings of a real Flink, and how their SQL texts become types and values."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from millstream.formats.registry import FORMATS, Format
from millstream.sql.types import CHARACTER, DataType, Field, TypeRoot

_FOLDER: Final = Path(__file__).parents[2] / "fixtures" / "flink-goldens"
_TYPE: Final = re.compile(r"(\w+)(?:\(([\d, ]+)\))?(?:<(.*)>)?")


def goldens(kind: str, *formats: str) -> list[dict[str, Any]]:
    paths = [_FOLDER / f"{format_}-{kind}.json" for format_ in formats]
    return [golden for path in paths if path.exists() for golden in json.loads(path.read_text("utf-8"))]


def name_of(golden: dict[str, Any]) -> str:
    messages = golden.get("messages", [""])
    return f"{golden['format']} {golden['columns']} {golden.get('options', {})} {messages[0]}"


def bind_format(identifier: str, options: dict[str, str]) -> Format:
    """The format that these options declare."""
    declaration = FORMATS[identifier]
    values: dict[str, Any] = {option.key: option.default for option in declaration.options}
    for option in declaration.options:
        if (written := options.get(f"{identifier}.{option.key}")) is not None:
            values[option.key] = option.parse(written)
    found = declaration.bind(values)
    assert found is not None
    return found


def parts(text: str) -> list[str]:
    """Splits at the commas that stand outside of brackets and quotes."""
    found, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == "'"
        depth += 0 if quoted else (character in "(<[") - (character in ")>]")
        if character == "," and not depth and not quoted:
            found.append("")
        else:
            found[-1] += character
    return [part.strip() for part in found]


def type_of(text: str) -> DataType:
    match = _TYPE.fullmatch(text)
    assert match is not None, text
    name, numbers, inner = match.groups()
    root = TypeRoot(name)
    if root is TypeRoot.ARRAY:
        return DataType(root, element=type_of(inner))
    if root is TypeRoot.MAP:
        key, value = parts(inner)
        return DataType(root, key=type_of(key), element=type_of(value))
    if root is TypeRoot.ROW:
        return DataType(root, fields=tuple(Field(*column) for column in columns_of(inner)))
    precision, scale, *_ = [*(int(n) for n in (numbers or "").split(",") if n), None, None]
    return DataType(root, precision=precision, scale=scale)


def columns_of(text: str) -> tuple[tuple[str, DataType], ...]:
    pairs = (part.split(" ", 1) for part in parts(text))
    return tuple((name, type_of(type_text)) for name, type_text in pairs)


def literal(text: str, type_: DataType) -> object:  # noqa: C901, PLR0912
    if cast := re.fullmatch(r"CAST\((.*) AS .*\)", text, re.DOTALL):
        text = cast[1]
    if text == "NULL":
        return None
    if call := re.fullmatch(r"TO_TIMESTAMP_LTZ\((\d+), 3\)", text):
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(call[1]))
    if call := re.fullmatch(r"(?:ARRAY|ROW|MAP)[\[(](.*)[\])]", text, re.DOTALL):
        return _nested(parts(call[1]), type_)
    inner = re.sub(r"^[A-Z]* *'|'$", "", text)
    match type_.root:
        case root if root in CHARACTER:
            return inner
        case TypeRoot.BOOLEAN:
            return text == "TRUE"
        case TypeRoot.BYTES:
            return bytes.fromhex(inner)
        case TypeRoot.DECIMAL:
            return Decimal(text)
        case TypeRoot.DATE:
            return date.fromisoformat(inner)
        case TypeRoot.TIME:
            return _millis(time.fromisoformat(inner))
        case TypeRoot.TIMESTAMP:
            return datetime.fromisoformat(inner)
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            return float(text)
        case _:
            return int(text)


def _nested(texts: list[str], type_: DataType) -> object:
    if type_.root is TypeRoot.ROW:
        return {field.name: literal(text, field.type) for text, field in zip(texts, type_.fields, strict=True)}
    assert type_.element is not None
    if type_.root is TypeRoot.ARRAY:
        return [literal(text, type_.element) for text in texts]
    assert type_.key is not None
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return [(literal(key, type_.key), literal(value, type_.element)) for key, value in pairs]


def _millis(moment: time) -> int:
    return ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1000 + moment.microsecond // 1000


def show(value: object, type_: DataType) -> object:
    """A value as the recording shows it."""
    match value:
        case int() if type_.root is TypeRoot.TIME:
            return str(timedelta(milliseconds=value)).zfill(8)
        case bool() | int() | str() | None:
            return value
        case bytes():
            return f"0x{value.hex()}"
        case list():
            return dict(value)
        case _:
            return str(value)
