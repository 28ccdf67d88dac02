"""Formats JSON text like Jackson."""

from __future__ import annotations

import re
from typing import Final

_SHORT_ESCAPES: Final = {
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
}  # fmt: skip
_SPECIAL: Final = re.compile(r'["\\\x00-\x1f]')
_SPECIAL_IN_BYTES: Final = re.compile('["\\\\\x00-\x1f\U00010000-\U0010ffff]')


def quote(text: str) -> str:
    """A string as Jackson writes it to characters."""
    return f'"{_SPECIAL.sub(_escape, text)}"'


def escape_for_bytes(text: str) -> str:
    """The inside of a string as Jackson writes it to UTF-8, with surrogates as escapes."""
    return _SPECIAL_IN_BYTES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if (short := _SHORT_ESCAPES.get(character)) is not None:
        return short
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))
