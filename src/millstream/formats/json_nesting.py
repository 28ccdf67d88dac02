"""Limits the nesting of JSON, independently of how much of its stack a caller uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from millstream.sql.nesting import with_room

if TYPE_CHECKING:
    import json

    from numpy.typing import NDArray

DEEPEST: Final = 1000
"""Jackson's limit."""
_SHALLOW: Final = 100
"""What any stack has room for."""

_STEPS: Final = np.zeros(256, np.int8)
_STEPS[[ord("{"), ord("[")]] = 1
_STEPS[[ord("}"), ord("]")]] = -1


def first_value(text: str, start: int, syntax: json.JSONDecoder) -> object:
    """The JSON value at this position of a text. Raises ValueError."""
    if text.count("[") + text.count("{") > _SHALLOW:
        depth = nesting(text[start:].encode("utf-8", "surrogatepass"))
        if depth > DEEPEST:
            raise ValueError(f"It is nested more than {DEEPEST} levels deep")
        if depth > _SHALLOW:
            return with_room(lambda: syntax.raw_decode(text, start))[0]
    return syntax.raw_decode(text, start)[0]


def nesting(content: bytes) -> int:
    """The levels of the first JSON value; ignores brackets in strings, and everything after the value."""
    data = np.frombuffer(content.replace(rb"\\", b"").replace(rb"\"", b""), np.uint8)
    is_outside = np.cumsum(data == ord('"')) % 2 == 0
    steps = _STEPS[data[is_outside]]
    levels: NDArray[np.int64] = np.cumsum(steps[steps != 0], dtype=np.int64)
    ends = np.flatnonzero(levels == 0)
    return int(levels[: ends[0] if len(ends) else None].max(initial=0))
