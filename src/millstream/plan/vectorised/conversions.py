"""Casts between types on Arrow data, with the results of `spark/casts.py`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.plan.casts import is_cut
from millstream.plan.functions.results import bare, fraction_digits
from millstream.plan.vectorised.evaluators import Apply, ExpressionError, Literal
from millstream.plan.vectorised.literals import fold, read_literal
from millstream.plan.vectorised.number_arrays import (
    fit_decimals,
    floats_of_decimals,
    narrow_integers,
    nulls_of,
    require_decimals,
    truncate_floats,
)
from millstream.plan.vectorised.obstacles import NotVectorisedError
from millstream.plan.vectorised.text_arrays import fit_length, integers_of_texts, pad_length, texts_of
from millstream.plan.vectorised.time_arrays import truncate_points
from millstream.plan.vectorised.time_texts import dates_of_texts, times_of_texts
from millstream.sql.types import (
    APPROXIMATE,
    BINARIES,
    CHARACTER,
    INTEGERS,
    NESTED,
    TIMESTAMPS,
    DataType,
    TypeRoot,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.vectorised.evaluators import Evaluator

_MOST_FRACTION_DIGITS: Final = 6
_INTEGER_DIGITS: Final = 19
_MOST_DIGITS: Final = 38
_MICROS_PER_DAY: Final = 86_400_000_000
_WRITTEN_ALIKE: Final = CHARACTER | INTEGERS
"""What Spark's plain cast to a text writes as CAST does."""
_TO_TEXT: Final = INTEGERS | {TypeRoot.BOOLEAN, TypeRoot.DATE, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ}


def coerce(value: Evaluator, found: DataType, wanted: DataType) -> Evaluator:
    """The same value in another type; nothing is cut or padded, and what does not fit fails."""
    if found.root is not TypeRoot.NULL and arrow_type(found) == arrow_type(wanted):
        return value
    if wanted.root in CHARACTER and found.root not in _WRITTEN_ALIKE:
        raise NotVectorisedError(f"CAST({bare(found)} AS {bare(wanted)})")
    if wanted.root is TypeRoot.DECIMAL and found.root in INTEGERS | {TypeRoot.DECIMAL}:
        return fold(_to_decimal(value, found, wanted, fails=True))
    return convert(value, found, wanted)


def store(value: Evaluator, found: DataType, wanted: DataType) -> Evaluator:
    """A value in a column that it fits without a CAST; a timestamp still loses digits that the column does not have."""
    return convert(value, found, wanted) if is_cut(found, wanted) else coerce(value, found, wanted)


def convert(value: Evaluator, found: DataType, wanted: DataType, *, attempt: bool = False) -> Evaluator:
    """CAST, or with `attempt` TRY_CAST."""
    if found.root is TypeRoot.NULL:
        return Literal.of(None, arrow_type(wanted))
    known = read_literal(value, wanted) if isinstance(value, Literal) else None
    return fold(_convert(value, found, wanted, attempt=attempt)) if known is None else known


def _convert(value: Evaluator, found: DataType, wanted: DataType, *, attempt: bool) -> Evaluator:
    type_ = arrow_type(wanted)
    if wanted.root in CHARACTER:
        return _to_text(value, found, wanted)
    if found.root in INTEGERS and wanted.root in INTEGERS:
        is_wider = type_.bit_width >= arrow_type(found).bit_width
        return _cast(value, type_) if is_wider else _narrow(value, found, wanted, attempt=attempt)
    if found.root in APPROXIMATE and wanted.root in INTEGERS:
        function = partial(truncate_floats, type_, *_names(found, wanted), attempt)
        return Apply(function, (value,), can_fail=not attempt)
    if found.root in CHARACTER:
        return Apply(_reader_of_texts(found, wanted, attempt=attempt), (value,), can_fail=not attempt)
    if wanted.root in APPROXIMATE and found.root in INTEGERS | APPROXIMATE:
        return _cast(value, type_)
    if wanted.root in APPROXIMATE and found.root is TypeRoot.DECIMAL:
        return Apply(partial(floats_of_decimals, type_), (value,))
    if wanted.root is TypeRoot.DECIMAL and found.root in INTEGERS | {TypeRoot.DECIMAL}:
        return _to_decimal(value, found, wanted, fails=False)
    if found.root is TypeRoot.BOOLEAN and wanted.root in INTEGERS:
        return _cast(value, type_)
    if wanted.root in TIMESTAMPS and found.root in TIMESTAMPS | {TypeRoot.DATE}:
        return _to_timestamp(value, found, wanted)
    if wanted.root is TypeRoot.DATE and found.root in TIMESTAMPS:
        return Apply(_date_of, (value,))
    is_same = found.not_null() == wanted.not_null() or (found.root in NESTED and arrow_type(found) == type_)
    if is_same and not is_cut(found, wanted):
        return value
    raise NotVectorisedError(f"CAST({bare(found)} AS {bare(wanted)})")


def _reader_of_texts(found: DataType, wanted: DataType, *, attempt: bool) -> Callable[[pa.Array], pa.Array]:
    if wanted.root in INTEGERS:
        return partial(integers_of_texts, arrow_type(wanted), str(wanted.root), attempt)
    if wanted.root is TypeRoot.DATE:
        return partial(dates_of_texts, attempt)
    if wanted.root is TypeRoot.TIME:
        return partial(times_of_texts, attempt)
    raise NotVectorisedError(f"CAST({bare(found)} AS {bare(wanted)})")


def _cast(value: Evaluator, type_: pa.DataType) -> Evaluator:
    return Apply(partial(_cast_unchecked, type_), (value,))


def _cast_unchecked(type_: pa.DataType, value: pa.Array) -> pa.Array:
    return pc.cast(value, type_, safe=False)


def _narrow(value: Evaluator, found: DataType, wanted: DataType, *, attempt: bool) -> Evaluator:
    function = partial(narrow_integers, arrow_type(wanted), *_names(found, wanted), attempt)
    return Apply(function, (value,), can_fail=not attempt)


def _names(found: DataType, wanted: DataType) -> tuple[str, str]:
    return str(found.root), str(wanted.root)


def _to_decimal(value: Evaluator, found: DataType, wanted: DataType, *, fails: bool) -> Evaluator:
    """`fails`: a number with too many digits is not NULL, but fails."""
    precision, scale = wanted.precision or 0, wanted.scale or 0
    if found.root in INTEGERS:
        if _INTEGER_DIGITS + scale > _MOST_DIGITS:
            raise NotVectorisedError(f"CAST({bare(found)} AS {bare(wanted)})")
        value = _cast(_cast(value, pa.int64()), pa.decimal128(_INTEGER_DIGITS, 0))
    elif (found.precision or 0) + max(scale - (found.scale or 0), 0) >= _MOST_DIGITS:
        raise NotVectorisedError(f"CAST({bare(found)} AS {bare(wanted)})")
    function = require_decimals if fails else fit_decimals
    return Apply(partial(function, precision, scale), (value,), can_fail=fails)


def _to_timestamp(value: Evaluator, found: DataType, wanted: DataType) -> Evaluator:
    """The session's time zone is UTC, so that a TIMESTAMP and a TIMESTAMP_LTZ are the same microseconds."""
    moved = value if found.root is wanted.root else _cast(value, arrow_type(wanted))
    if found.root is TypeRoot.DATE:
        moved = Apply(partial(_midnight, arrow_type(wanted)), (value,), can_fail=True)
    digits = fraction_digits(wanted)
    is_exact = found.root is TypeRoot.DATE or fraction_digits(found) <= digits or digits >= _MOST_FRACTION_DIGITS
    if is_exact:
        return moved
    return Apply(partial(truncate_points, 10 ** (_MOST_FRACTION_DIGITS - digits)), (moved,), can_fail=True)


def _midnight(type_: pa.DataType, dates: pa.Array) -> pa.Array:
    try:
        return pc.cast(dates, type_)
    except pa.ArrowInvalid:
        raise ExpressionError("[DATETIME_OVERFLOW] A date is too far away for a timestamp.") from None


def _date_of(points: pa.Array) -> pa.Array:
    micros = points.cast(pa.int64())
    days = np.floor_divide(pc.fill_null(micros, 0).to_numpy(), _MICROS_PER_DAY).astype(np.int32)
    return pa.array(days, mask=nulls_of(micros)).cast(pa.date32())


def _to_text(value: Evaluator, found: DataType, wanted: DataType) -> Evaluator:
    if found.root in BINARIES or (found.root not in CHARACTER and found.root not in _TO_TEXT):
        raise NotVectorisedError(f"CAST({bare(found)} AS {bare(wanted)})")
    digits = fraction_digits(found) if found.root in TIMESTAMPS else 0
    text = value if found.root in CHARACTER else Apply(partial(texts_of, digits), (value,))
    if wanted.root is TypeRoot.VARCHAR and wanted.precision is not None:
        return Apply(partial(fit_length, wanted.precision), (text,))
    if wanted.root is TypeRoot.CHAR and wanted.precision is not None:
        return Apply(partial(pad_length, wanted.precision), (text,))
    return text
