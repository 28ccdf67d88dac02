"""The functions that user_functions.test calls."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

import millstream


def initials(name: str | None) -> str | None:
    return None if name is None else "".join(word[0] for word in name.split())


@millstream.udf(arguments=["INT", "INT"], result="BIGINT")
def product(left: Any, right: Any) -> Any:
    return pc.multiply(left.cast("int64"), right.cast("int64"))
