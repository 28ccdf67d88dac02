"""JSON messages as Jackson sees them: numbers keep their text, objects keep repeated names."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Final

from millstream.formats import java_text
from millstream.formats.json_text import quoted

NO_CONTENT: Final = "No content to map due to end-of-input"

_BLANKS: Final = re.compile(r"[ \t\r\n]*")


class IntegerToken(str):
    """The text of a JSON number without fraction and exponent."""

    __slots__ = ()


class FractionToken(str):
    """The text of a JSON number with fraction or exponent."""

    __slots__ = ()


class JsonObject(tuple[tuple[str, object], ...]):
    """The members of a JSON object in order, repeated names included."""

    __slots__ = ()


def _no_such_token(token: str) -> object:
    raise ValueError(f"Non-standard token '{token}'")


_SYNTAX: Final = json.JSONDecoder(
    object_pairs_hook=JsonObject,
    parse_int=IntegerToken,
    parse_float=FractionToken,
    parse_constant=_no_such_token,
    strict=False,
)


def parse(message: bytes) -> object:
    """The first JSON value of the message. What follows it is never looked at."""
    usual = message.startswith((b'{"', b"[{"))
    text = message.decode("utf-8" if usual else json.detect_encoding(message)).removeprefix("\ufeff")
    blanks = _BLANKS.match(text)
    assert blanks is not None
    if blanks.end() == len(text):
        raise ValueError(NO_CONTENT)
    value, _ = _SYNTAX.raw_decode(text, blanks.end())
    return value


def token_text(value: object) -> str:
    """The text of the token a value starts with."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "{" if isinstance(value, JsonObject) else "["


def tree_text(value: object, *, exact_fractions: bool) -> str:  # noqa: PLR0911
    """A value as compact JSON, numbers as Jackson's tree keeps them."""
    match value:
        case None:
            return "null"
        case JsonObject():
            members = {name: tree_text(member, exact_fractions=exact_fractions) for name, member in value}
            return f"{{{','.join(f'{quoted(name)}:{text}' for name, text in members.items())}}}"
        case list():
            return f"[{','.join(tree_text(element, exact_fractions=exact_fractions) for element in value)}]"
        case FractionToken():
            return _fraction_text(value, exact=exact_fractions)
        case IntegerToken():
            return "0" if value == "-0" else value
        case str():
            return quoted(value)
        case _:
            return token_text(value)


def _fraction_text(token: str, *, exact: bool) -> str:
    if exact:
        return java_text.stripped_decimal_text(Decimal(token))
    text = java_text.double_text(float(token))
    return quoted(text) if text.endswith("y") else text
