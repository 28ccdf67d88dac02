"""Parses JSON messages like Jackson: numbers keep their text, objects keep repeated names."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from millstream.formats import java_text
from millstream.formats.json_nesting import first_value
from millstream.formats.json_text import quote

if TYPE_CHECKING:
    from collections.abc import Callable

NO_CONTENT: Final = "No content to map due to end-of-input"

_BLANKS: Final = re.compile(r"[ \t\r\n]*")


class IntegerToken(str):
    """The text of a JSON number without fraction and exponent."""

    __slots__ = ()


class FractionToken(str):
    """The text of a JSON number with fraction or exponent."""

    __slots__ = ()


class _Written(str):
    """A part of a text that is complete."""

    __slots__ = ()


class JsonObject(tuple[tuple[str, object], ...]):
    """The members of a JSON object in order, repeated names included."""

    __slots__ = ()


def _no_such_token(token: str) -> object:
    raise ValueError(f"Non-standard token '{token}'")


def _syntax(
    of_members: Callable[[list[tuple[str, object]]], JsonObject],
    of_integer: Callable[[str], str],
    of_fraction: Callable[[str], str],
) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=of_members,
        parse_int=lambda text: IntegerToken(of_integer(text)),
        parse_float=lambda text: FractionToken(of_fraction(text)),
        parse_constant=_no_such_token,
        strict=False,
    )


def _last_of_each_name(members: list[tuple[str, object]]) -> JsonObject:
    return JsonObject(dict(members).items())


def _normalise_zero(text: str) -> str:
    return "0" if text == "-0" else text


def _strip(text: str) -> str:
    return java_text.stripped_decimal_text(java_text.exact_decimal(text))


_SYNTAX: Final = _syntax(JsonObject, str, str)
_TREE: Final = _syntax(_last_of_each_name, _normalise_zero, lambda text: java_text.double_text(float(text)))
_EXACT_TREE: Final = _syntax(_last_of_each_name, _normalise_zero, _strip)


def parse(message: bytes) -> object:
    """The first JSON value of the message. Anything after it is ignored."""
    return _parse(message, _SYNTAX)


def parse_tree(message: bytes, *, exact_fractions: bool) -> object:
    """As in Jackson's tree: the last of repeated names, and numbers by value."""
    return _parse(message, _EXACT_TREE if exact_fractions else _TREE)


def _parse(message: bytes, syntax: json.JSONDecoder) -> object:
    usual = message.startswith((b'{"', b"[{"))
    text = message.decode("utf-8" if usual else json.detect_encoding(message)).removeprefix("\ufeff")
    blanks = _BLANKS.match(text)
    assert blanks is not None
    if blanks.end() == len(text):
        raise ValueError(NO_CONTENT)
    return first_value(text, blanks.end(), syntax)


def token_text(value: object) -> str:
    """The text of a value's first token."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "{" if isinstance(value, JsonObject) else "["


def tree_text(value: object, *, exact_fractions: bool) -> str:
    """A value as compact JSON, with numbers as in Jackson's tree. Not recursive, since it may be deep."""
    pieces: list[str] = []
    left = [value]
    while left:
        match left.pop():
            case _Written() as written:
                pieces.append(written)
            case JsonObject() as members:
                pieces.append("{")
                left.append(_Written("}"))
                for place, (name, member) in reversed([*enumerate(dict(members).items())]):
                    left += [member, _Written(f"{',' if place else ''}{quote(name)}:")]
            case list() as elements:
                pieces.append("[")
                left.append(_Written("]"))
                for place, element in reversed([*enumerate(elements)]):
                    left += [element, _Written(",")] if place else [element]
            case scalar:
                pieces.append(_scalar_text(scalar, exact_fractions=exact_fractions))
    return "".join(pieces)


def _scalar_text(value: object, *, exact_fractions: bool) -> str:
    match value:
        case None:
            return "null"
        case FractionToken():
            return _fraction_text(value, exact=exact_fractions)
        case IntegerToken():
            return _normalise_zero(value)
        case str():
            return quote(value)
        case _:
            return token_text(value)


def _fraction_text(token: str, *, exact: bool) -> str:
    if exact:
        return _strip(token)
    text = java_text.double_text(float(token))
    return quote(text) if text.endswith("y") else text
