"""How many columns of a terminal a text takes."""

from __future__ import annotations

import unicodedata
from typing import Final

_TWO_COLUMNS: Final = frozenset("WF")
_NO_COLUMN: Final = frozenset({"Mn", "Me", "Cf"})


def display_width(text: str) -> int:
    """表 takes two, a combining accent none."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in _NO_COLUMN:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _TWO_COLUMNS else 1
