"""Functions on text, on Arrow data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.plan.vectorised.evaluators import Apply, Literal
from millstream.plan.vectorised.text_arrays import join, join_known, lower, part_of_split, replace, upper
from millstream.sql.types import CHARACTER

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.vectorised.calls import VectorCall, VectorForm
    from millstream.plan.vectorised.evaluators import Evaluator


def length(texts: pa.Array) -> pa.Array:
    return pc.utf8_length(texts)


def slice_texts(start: int, stop: int | None, texts: pa.Array) -> pa.Array:
    return pc.utf8_slice_codeunits(texts, start, stop)


def trim(side: str, characters: str, texts: pa.Array) -> pa.Array:
    function = {"BOTH": pc.utf8_trim, "LEADING": pc.utf8_ltrim, "TRAILING": pc.utf8_rtrim}[side]
    return function(texts, characters=characters)


def starts_with(part: str, texts: pa.Array) -> pa.Array:
    return pc.starts_with(texts, part)


def ends_with(part: str, texts: pa.Array) -> pa.Array:
    return pc.ends_with(texts, part)


def _plain(function: Callable[..., pa.Array]) -> VectorForm:
    return lambda call: Apply(function, (call[0],))


def _concatenate(call: VectorCall) -> Evaluator:
    return Apply(join, tuple(call[index] for index in range(len(call))))


def _concatenate_with(call: VectorCall) -> Evaluator:
    separator = call.text(0)
    if len(call) == 1:
        return Literal.of("", pa.string())
    return Apply(partial(join_known, separator), tuple(call[index] for index in range(1, len(call))))


def _substring(call: VectorCall) -> Evaluator:
    start = max(call.natural(1) - 1, 0)
    stop = start + call.natural(2) if len(call) > 2 else None  # noqa: PLR2004
    return Apply(partial(slice_texts, start, stop), (call[0],))


def _left(call: VectorCall) -> Evaluator:
    return Apply(partial(slice_texts, 0, call.natural(1)), (call[0],))


def _right(call: VectorCall) -> Evaluator:
    count = call.natural(1)
    return Apply(partial(slice_texts, -count, None) if count else partial(slice_texts, 0, 0), (call[0],))


def _trim(call: VectorCall) -> Evaluator:
    if len(call) == 1:
        return Apply(partial(trim, "BOTH", " "), (call[0],))
    return Apply(partial(trim, str(call.given.values[0]), call.filled_text(1)), (call[2],))


def _trim_side(side: str) -> VectorForm:
    def form(call: VectorCall) -> Evaluator:
        characters = call.filled_text(1) if len(call) > 1 else " "
        return Apply(partial(trim, side, characters), (call[0],))

    return form


def _replace(call: VectorCall) -> Evaluator:
    return Apply(partial(replace, call.filled_text(1), call.text(2)), (call[0],))


def _affix(function: Callable[..., pa.Array]) -> VectorForm:
    def form(call: VectorCall) -> Evaluator:
        if call.given.types[0].root not in CHARACTER:
            raise call.obstacle(f"of {call.given.types[0].root}")
        return Apply(partial(function, call.text(1)), (call[0],))

    return form


def _split_index(call: VectorCall) -> Evaluator:
    if call.given.types[1].root not in CHARACTER:
        raise call.obstacle("with the number of a character")
    return Apply(partial(part_of_split, call.filled_text(1), call.natural(2)), (call[0],))


FORMS: Final[dict[str, VectorForm]] = {
    "||": _concatenate,
    "CONCAT": _concatenate,
    "CONCAT_WS": _concatenate_with,
    "CHAR_LENGTH": _plain(length),
    "CHARACTER_LENGTH": _plain(length),
    "UPPER": _plain(upper),
    "LOWER": _plain(lower),
    "SUBSTRING": _substring,
    "SUBSTR": _substring,
    "LEFT": _left,
    "RIGHT": _right,
    "TRIM": _trim,
    "LTRIM": _trim_side("LEADING"),
    "RTRIM": _trim_side("TRAILING"),
    "BTRIM": _trim_side("BOTH"),
    "REPLACE": _replace,
    "STARTSWITH": _affix(starts_with),
    "ENDSWITH": _affix(ends_with),
    "SPLIT_INDEX": _split_index,
}
