"""Literals as the type that they are used in, converted once and not for each batch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from millstream.formats.arrow_types import arrow_type
from millstream.formats.java_text import SQL_TIMESTAMP, parse_date, parse_double, parse_float, parse_timestamp
from millstream.plan.functions.results import fraction_digits
from millstream.plan.vectorised.evaluators import Apply, ExpressionError, Literal
from millstream.sql.types import APPROXIMATE, TIMESTAMPS, TypeRoot

if TYPE_CHECKING:
    from millstream.plan.vectorised.evaluators import Evaluator
    from millstream.sql.types import DataType

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?")
_MOST_DIGITS: Final = 6
_ONE_ROW: Final = pa.record_batch({"row": [0]})


def read_literal(literal: Literal, wanted: DataType) -> Literal | None:
    """A literal that Arrow does not convert, or not exactly; None where that is left to a cast.

    >>> read_literal(Literal.of("2024-01-02", pa.string()), DATE).scalar.as_py()
    datetime.date(2024, 1, 2)
    """
    if pa.types.is_decimal(literal.array.type) and literal.scalar.is_valid and wanted.root in APPROXIMATE:
        read = parse_double if wanted.root is TypeRoot.DOUBLE else parse_float
        return Literal.of(read(f"{literal.scalar.as_py():f}"), arrow_type(wanted))
    if not pa.types.is_string(literal.array.type) or not literal.scalar.is_valid:
        return None
    text = literal.scalar.as_py()
    try:
        if wanted.root is TypeRoot.DATE and _DATE.fullmatch(text):
            return Literal(pa.array([parse_date(text)], pa.int32()).cast(pa.date32()))
        if wanted.root in TIMESTAMPS and _TIMESTAMP.fullmatch(text):
            micros = parse_timestamp(text, SQL_TIMESTAMP)
            unit = 10 ** max(_MOST_DIGITS - fraction_digits(wanted), 0)
            return Literal(pa.array([micros - micros % unit], pa.int64()).cast(arrow_type(wanted)))
    except ValueError:
        return None
    return None


def fold(evaluator: Evaluator) -> Evaluator:
    """The value of a function of literals; one that has none fails when a row comes to it."""
    if not isinstance(evaluator, Apply) or evaluator.columns:
        return evaluator
    try:
        found = evaluator.evaluate(_ONE_ROW)
    except ExpressionError:
        return evaluator
    return Literal(pa.repeat(found, 1))
