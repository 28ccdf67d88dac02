"""Guesses what a user meant by an unknown word, by the same measure everywhere."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_ALIKE: Final = 0.6
"""For a word that is certainly wrong: it can only be one of the known ones."""
_HARDLY_DIFFERENT: Final = 0.85
_HARDLY_DIFFERENT_IF_SHORT: Final = 0.75
"""Two swapped letters make more of a difference in a short word."""
_SHORT: Final = 8


def nearest(written: str, known: Iterable[str], *, may_be_right: bool = False) -> str | None:
    """The one of `known` that was probably meant, case-insensitively; None if none resembles it.

    `may_be_right`: the word may be what it seems to be, such as a name or the property of a plugin; then only one that
    hardly differs is a typo.

    >>> nearest("Ordrs", ["orders", "payments"]), nearest("my.interceptor.level", ["interceptor.classes"])
    ('orders', 'interceptor.classes')
    >>> nearest("my.interceptor.level", ["interceptor.classes"], may_be_right=True)
    """
    spelt = {word.lower(): word for word in known}
    hardly = _HARDLY_DIFFERENT_IF_SHORT if len(written) < _SHORT else _HARDLY_DIFFERENT
    near = difflib.get_close_matches(written.lower(), spelt, n=1, cutoff=hardly if may_be_right else _ALIKE)
    return spelt[near[0]] if near else None


def closest(written: str, known: Iterable[str], count: int) -> list[str]:
    """At most `count` of `known`, the most similar first."""
    return difflib.get_close_matches(written, sorted(known), n=count, cutoff=0.0)


def is_alike(written: str, other: str) -> bool:
    return difflib.SequenceMatcher(None, written, other).ratio() >= _ALIKE
