"""The functions that scripts call."""

from __future__ import annotations

from collections.abc import Iterator  # noqa: TC003  # an annotation that is read when the function is loaded
from typing import Any

import pyarrow.compute as pc

import millstream


def initials(name: str | None) -> str | None:
    return None if name is None else "".join(word[0] for word in name.split())


@millstream.udf(arguments=["INT", "INT"], result="BIGINT")
def product(left: Any, right: Any) -> Any:
    return pc.multiply(left.cast("int64"), right.cast("int64"))


def pieces(text: str | None) -> Iterator[tuple[str, int]]:
    """The parts of a text between hyphens, with their places."""
    for place, piece in enumerate((text or "").split("-"), 1):
        if piece:
            yield piece, place
