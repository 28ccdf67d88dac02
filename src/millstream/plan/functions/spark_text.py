"""Small pieces of Spark SQL that several functions are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.functions.declaration import SparkCall


def quoted(text: str) -> str:
    """A string literal; Spark reads backslashes in it as escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def to_common_type(form: str) -> Callable[[SparkCall], str]:
    """Of arguments of several types: each is made the result's type first."""
    return lambda call: form.format(
        *(call.as_type(i, call.result) for i in range(len(call.texts))),
        rest=", ".join(call.as_type(i, call.result) for i in range(len(call.texts))),
    )


def truncated(text: str, digits: int, *, with_zone: bool) -> str:
    """A timestamp with at most so many fraction digits; Spark's have six."""
    if digits >= 6:  # noqa: PLR2004
        return text
    unit = 10 ** (6 - digits)
    instant = text if with_zone else f"CAST({text} AS TIMESTAMP_LTZ)"
    cut = f"timestamp_micros(unix_micros({instant}) - pmod(unix_micros({instant}), {unit}L))"
    return cut if with_zone else f"CAST({cut} AS TIMESTAMP_NTZ)"
