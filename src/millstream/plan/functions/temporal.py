"""Dates, timestamps and intervals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from millstream.plan.functions.arithmetic import WHOLE_NUMBER, whole_number
from millstream.plan.functions.patterns import format_problem
from millstream.plan.functions.results import same_as
from millstream.plan.functions.spark_text import time_of_day, truncate
from millstream.sql.functions import (
    INTEGER,
    INTERVAL,
    NUMBER,
    POINT,
    TEXT,
    TIME,
    Category,
    Family,
    Function,
    Given,
    Nulls,
    Parameter,
    Signature,
    SparkCall,
    signature,
    word,
)
from millstream.sql.types import BIGINT, CHARACTER, DATE, INT, INTERVALS, STRING, DataType, TypeRoot

if TYPE_CHECKING:
    from millstream.sql.functions import SparkForm

_PER_BATCH: Final = "The time of the micro-batch, the same for all its rows; Flink looks at the clock for each row."
_PATTERNS: Final = (
    "Patterns are those of Spark: the letters for weeks (Y, w, W) are refused, digits must match exactly."
)
_MILLIS: Final = DataType(TypeRoot.TIMESTAMP, precision=3)
_MILLIS_LTZ: Final = DataType(TypeRoot.TIMESTAMP_LTZ, precision=3)
_TIME_UNITS: Final = ("HOUR", "MINUTE", "SECOND")
_SMALL_UNITS: Final = ("MILLISECOND", "MICROSECOND")
_DATE_UNITS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
_PARTS: Final = {
    "YEAR": "year({0})", "QUARTER": "quarter({0})", "MONTH": "month({0})", "WEEK": "weekofyear({0})",
    "DAY": "dayofmonth({0})", "DOY": "dayofyear({0})", "DOW": "dayofweek({0})", "ISODOW": "weekday({0}) + 1",
    "ISOYEAR": "extract(YEAROFWEEK FROM {0})", "HOUR": "hour({0})", "MINUTE": "minute({0})", "SECOND": "second({0})",
    "MILLISECOND": "pmod(unix_millis(CAST({0} AS TIMESTAMP_LTZ)), 1000)",
    "MICROSECOND": "pmod(unix_micros(CAST({0} AS TIMESTAMP_LTZ)), 1000000)",
    "NANOSECOND": "pmod(unix_micros(CAST({0} AS TIMESTAMP_LTZ)), 1000000) * 1000",
    "EPOCH": "unix_seconds(CAST({0} AS TIMESTAMP_LTZ))",
}  # fmt: skip
_MILLIS_OF: Final = {"HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "MILLISECOND": 1}
_WITHIN: Final = {"HOUR": 24, "MINUTE": 60, "SECOND": 60, "MILLISECOND": 1000}
_ROUNDED_TO: Final = (*_DATE_UNITS, *_TIME_UNITS, "MILLISECOND")
_FORMAT: Final = Parameter("format", TEXT, problem=format_problem)
_TEXT: Final = Parameter("text", TEXT)
_DEFAULT_FORMAT: Final = "'yyyy-MM-dd HH:mm:ss'"
_FRACTION: Final = re.compile("S+")
_MOST_DIGITS: Final = 9
_MICRO_DIGITS: Final = 6
_YEAR_0, _YEAR_9999 = "-62167219200000000L", "253402300799999999L"
"""The years that Flink's instants lie in; what is beyond them is NULL."""


def _time(name: str, form: SparkForm, *signatures: Signature, note: str = "", **options: object) -> Function:
    written = options.get("written")
    return Function(
        name, Category.TEMPORAL, signatures, form, note=note,
        written=str(written) if written else None,
    )  # fmt: skip


def _extract(call: SparkCall) -> str:
    part, type_ = str(call.given.values[0]), call.given.types[1]
    if type_.root in INTERVALS:
        return f"CAST(extract({part} FROM {call[1]}) AS BIGINT)"
    if type_.root is TypeRoot.TIME:
        return _part_of_time(call[1], part)
    value = f"CAST({call[1]} AS TIMESTAMP_NTZ)" if type_.root is TypeRoot.DATE else call[1]
    return f"CAST({_PARTS[part].format(value)} AS BIGINT)"


def _part_of_time(time: str, part: str) -> str:
    return f"CAST({time} div {_MILLIS_OF[part]} % {_WITHIN[part]} AS BIGINT)"


def _part(name: str, part: str, *more: Family) -> Function:
    def spark(call: SparkCall) -> str:
        root = call.given.types[0].root
        if root is TypeRoot.TIME:
            return _part_of_time(call[0], part)
        value = f"CAST({call[0]} AS TIMESTAMP_NTZ)" if root is TypeRoot.DATE else call[0]
        return f"CAST({_PARTS[part].format(value)} AS BIGINT)"

    return _time(name, spark, *(signature(Parameter("point", family), gives=BIGINT) for family in (POINT, *more)))


def _floor(point: str, unit: str) -> str:
    """Weeks begin on Sunday."""
    if unit == "WEEK":
        return f"(date_trunc('DAY', {point}) - make_dt_interval(dayofweek({point}) - 1))"
    return f"date_trunc('{unit}', {point})"


def _next(unit: str) -> str:
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
    if unit in months:
        return f"make_ym_interval(0, {months[unit]})"
    amounts = {"WEEK": "7", "DAY": "1", "HOUR": "0, 1", "MINUTE": "0, 0, 1", "SECOND": "0, 0, 0, 1"}
    return f"make_dt_interval({amounts.get(unit, '0, 0, 0, 0.001')})"


def _round_down(call: SparkCall) -> str:
    if len(call.given) == 1:
        return whole_number("floor")(call)
    if call.given.types[0].root is TypeRoot.TIME:
        return f"({call[0]} - {call[0]} % {_MILLIS_OF[str(call.given.values[1])]})"
    return f"CAST({_floor(f'CAST({call[0]} AS TIMESTAMP_LTZ)', str(call.given.values[1]))} AS {call.type})"


def _round_up(call: SparkCall) -> str:
    """From months on, Flink looks at the day alone; and it rounds a DATE up to the next DAY."""
    if len(call.given) == 1:
        return whole_number("ceil")(call)
    unit = str(call.given.values[1])
    if call.given.types[0].root is TypeRoot.TIME:
        return f"({call[0]} + pmod(- {call[0]}, {_MILLIS_OF[unit]})) % 86400000"
    if call.given.types[0].root is TypeRoot.DATE and unit == "DAY":
        return f"date_add({call[0]}, 1)"
    days_only = unit in ("MONTH", "QUARTER", "YEAR")
    point = f"CAST({f'CAST({call[0]} AS DATE)' if days_only else call[0]} AS TIMESTAMP_LTZ)"
    floor = _floor(point, unit)
    return f"CAST(if({floor} = {point}, {floor}, {floor} + {_next(unit)}) AS {call.type})"


def _sum_type(given: Given) -> DataType:
    point = given.types[2]
    if point.root is TypeRoot.DATE and given.values[0] in (*_TIME_UNITS, *_SMALL_UNITS):
        return DataType(TypeRoot.TIMESTAMP, precision=6)
    return point


def _add(call: SparkCall) -> str:
    """A time of day goes round: whole days later it is what it was."""
    if call.given.types[2].root is TypeRoot.TIME:
        if call.given.values[0] in _DATE_UNITS:
            return f"if({call[1]} IS NULL, NULL, {call[2]})"
        return time_of_day(f"timestampadd({call.given.values[0]}, {call[1]}, timestamp_millis({call[2]}))")
    return f"CAST(timestampadd({call.given.values[0]}, {call[1]}, {_as_timestamp(call, 2)}) AS {call.type})"


def _as_timestamp(call: SparkCall, index: int) -> str:
    is_date = call.given.types[index].root is TypeRoot.DATE
    return f"CAST({call[index]} AS TIMESTAMP_NTZ)" if is_date else call[index]


def _difference(call: SparkCall) -> str:
    """Whole units between the two, forward from the first."""
    if call.given.types[1].root is TypeRoot.TIME:
        both = [f"timestamp_millis({call[i]})" for i in (1, 2)]
    else:
        both = [f"CAST({call[i]} AS TIMESTAMP_LTZ)" for i in (1, 2)]
    unit = str(call.given.values[0])
    if unit == "NANOSECOND":
        return f"(timestampdiff(MICROSECOND, {', '.join(both)}) * 1000L)"
    return f"CAST(timestampdiff({unit}, {', '.join(both)}) AS INT)"


def _difference_type(given: Given) -> DataType:
    return BIGINT if given.values[0] == "NANOSECOND" else INT


def _format(call: SparkCall) -> str:
    is_text = call.given.types[0].root in CHARACTER
    return f"date_format({f'CAST({call[0]} AS TIMESTAMP_NTZ)' if is_text else call[0]}, {call[1]})"


def _read_timestamp(call: SparkCall) -> str:
    if len(call.given) == 1:
        return truncate(f"try_cast({call[0]} AS TIMESTAMP_NTZ)", 3, with_zone=False)
    return truncate(f"CAST(try_to_timestamp({call[0]}, {call[1]}) AS TIMESTAMP_NTZ)", 3, with_zone=False)


def _read_date(call: SparkCall) -> str:
    if len(call.given) == 1:
        return f"try_cast({call[0]} AS DATE)"
    return f"CAST(try_to_timestamp({call[0]}, {call[1]}) AS DATE)"


def _read_seconds(call: SparkCall) -> str:
    format_ = call[1] if len(call.given) > 1 else _DEFAULT_FORMAT
    least = "CAST('-9223372036854775808' AS BIGINT)"
    missing = f"if({call[0]} IS NULL OR {format_} IS NULL, NULL, {least})"
    return f"coalesce(unix_seconds(try_to_timestamp({call[0]}, {format_})), {missing})"


def _instant_type(given: Given) -> DataType:
    if given.types[0].root in CHARACTER:
        format_ = given.values[1] if len(given) > 1 else ""
        digits = max((len(run) for run in _FRACTION.findall(str(format_ or ""))), default=0)
    else:
        digits = given.values[1] if len(given) > 1 and isinstance(given.values[1], int) else 3
    return DataType(TypeRoot.TIMESTAMP_LTZ, precision=max(3, min(_MOST_DIGITS, digits)))


def _instant(call: SparkCall) -> str:
    digits = call.result.precision or 3
    if call.given.types[0].root in CHARACTER:
        format_ = call[1] if len(call.given) > 1 else _DEFAULT_FORMAT
        read = f"try_to_timestamp({call[0]}, {format_})"
        zoned = f"to_utc_timestamp({read}, {call[2]})" if len(call.given) > 2 else read  # noqa: PLR2004
        return truncate(zoned, digits, with_zone=True)
    unit = call.given.values[1] if len(call.given) > 1 else 3
    assert isinstance(unit, int)
    number = f"try_cast({call[0]} AS DECIMAL(38, 9))"
    micros = (
        f"try_cast({number} * {10 ** (6 - unit)}BD AS BIGINT)"
        if unit <= _MICRO_DIGITS
        else (f"try_cast({number} / {10 ** (unit - 6)}BD AS BIGINT)")
    )
    checked = f"if({micros} BETWEEN {_YEAR_0} AND {_YEAR_9999}, {micros}, NULL)"
    return truncate(f"timestamp_micros({checked})", digits, with_zone=True)


_NOW: Final = truncate("current_timestamp()", 3, with_zone=True)
_UNIT_WORDS: Final = (*_DATE_UNITS, *_TIME_UNITS)
_SECONDS: Final = Parameter("seconds", INTEGER, BIGINT)
_ROUNDED: Final = signature(
    Parameter("point", POINT), word("unit", *_ROUNDED_TO), gives=(same_as(0), "the point's type")
)
_POINT: Final = Parameter("point", POINT)
_TIME_OF_DAY: Final = DataType(TypeRoot.TIME, precision=0)
_ROUNDED_TIME: Final = signature(
    Parameter("time", TIME), word("unit", *_MILLIS_OF), gives=(same_as(0), "the time's type")
)

FUNCTIONS: Final = (
    _time("CURRENT_DATE", "current_date()", signature(gives=DATE, nulls=Nulls.NEVER),
          note=_PER_BATCH, written="CURRENT_DATE"),
    _time("CURRENT_TIME", time_of_day("current_timestamp()"), signature(gives=_TIME_OF_DAY, nulls=Nulls.NEVER),
          note=_PER_BATCH, written="CURRENT_TIME"),
    _time("LOCALTIME", time_of_day("current_timestamp()"), signature(gives=_TIME_OF_DAY, nulls=Nulls.NEVER),
          note=_PER_BATCH, written="LOCALTIME"),
    _time("CURRENT_TIMESTAMP", _NOW, signature(gives=_MILLIS_LTZ, nulls=Nulls.NEVER),
          note=_PER_BATCH, written="CURRENT_TIMESTAMP"),
    _time("NOW", _NOW, signature(gives=_MILLIS_LTZ, nulls=Nulls.NEVER), note=_PER_BATCH),
    _time("CURRENT_ROW_TIMESTAMP", _NOW, signature(gives=_MILLIS_LTZ, nulls=Nulls.NEVER),
          note=_PER_BATCH),
    _time("PROCTIME", _NOW, signature(gives=_MILLIS_LTZ, nulls=Nulls.NEVER), note=_PER_BATCH),
    _time("LOCALTIMESTAMP", f"CAST({_NOW} AS TIMESTAMP_NTZ)", signature(gives=_MILLIS, nulls=Nulls.NEVER),
          note=_PER_BATCH, written="LOCALTIMESTAMP"),
    _time("EXTRACT", _extract,
          signature(word("part", *_PARTS), Parameter("value", POINT), gives=BIGINT),
          signature(word("part", "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"), Parameter("value", INTERVAL),
                    gives=BIGINT),
          signature(word("part", *_MILLIS_OF), Parameter("value", TIME), gives=BIGINT),
          written="EXTRACT(part FROM value)",
          note="DECADE, CENTURY and MILLENNIUM are missing; a timestamp has six fraction digits."),
    _part("YEAR", "YEAR"), _part("QUARTER", "QUARTER"), _part("MONTH", "MONTH"), _part("WEEK", "WEEK"),
    _part("DAYOFYEAR", "DOY"), _part("DAYOFMONTH", "DAY"), _part("DAYOFWEEK", "DOW"),
    _part("HOUR", "HOUR", TIME), _part("MINUTE", "MINUTE", TIME), _part("SECOND", "SECOND", TIME),
    Function("FLOOR", Category.TEMPORAL, (WHOLE_NUMBER, _ROUNDED, _ROUNDED_TIME), _round_down,
             written="FLOOR(number | point TO unit)", note="DECADE, CENTURY and MILLENNIUM are missing."),
    Function("CEIL", Category.TEMPORAL, (WHOLE_NUMBER, _ROUNDED, _ROUNDED_TIME), _round_up,
             written="CEIL | CEILING(number | point TO unit)", note="DECADE, CENTURY and MILLENNIUM are missing."),
    _time("DATE_FORMAT", _format,
          signature(_POINT, _FORMAT, gives=STRING, nulls=Nulls.ALWAYS),
          signature(_TEXT, _FORMAT, gives=STRING, nulls=Nulls.ALWAYS), note=_PATTERNS),
    _time("TIMESTAMPADD", _add,
          signature(word("unit", *_UNIT_WORDS, *_SMALL_UNITS), Parameter("count", INTEGER, INT), _POINT,
                    gives=(_sum_type, "the point's type")),
          signature(word("unit", *_UNIT_WORDS, "MILLISECOND"), Parameter("count", INTEGER, INT),
                    Parameter("time", TIME), gives=(same_as(2), "the time's type"))),
    _time("TIMESTAMPDIFF", _difference,
          signature(word("unit", *_UNIT_WORDS, *_SMALL_UNITS, "NANOSECOND"), Parameter("from", POINT),
                    Parameter("to", POINT), gives=(_difference_type, "INT")),
          signature(word("unit", *_MILLIS_OF), Parameter("from", TIME), Parameter("to", TIME), gives=INT),
          note="FRAC_SECOND is NANOSECOND, and gives a BIGINT. Fractions of a second count; Flink leaves them out. "
          "A result that does not fit fails the job; Flink continues with a wrong number. Flink fails on TIMEs."),
    _time("CONVERT_TZ",
          f"date_format(convert_timezone({{1}}, {{2}}, "
          f"CAST(try_to_timestamp({{0}}, {_DEFAULT_FORMAT}) AS TIMESTAMP_NTZ)), {_DEFAULT_FORMAT})",
          signature(_TEXT, Parameter("from", TEXT), Parameter("to", TEXT), gives=STRING, nulls=Nulls.ALWAYS)),
    _time("FROM_UNIXTIME", "from_unixtime({rest})",
          signature(_SECONDS, _FORMAT, gives=STRING, optional=1, nulls=Nulls.ALWAYS), note=_PATTERNS),
    _time("UNIX_TIMESTAMP",
          lambda call: _read_seconds(call) if call.texts else "unix_timestamp()",
          signature(gives=BIGINT, nulls=Nulls.NEVER),
          signature(_TEXT, _FORMAT, gives=BIGINT, optional=1), note=_PATTERNS),
    _time("TO_DATE", _read_date, signature(_TEXT, _FORMAT, gives=DATE, optional=1, nulls=Nulls.ALWAYS), note=_PATTERNS),
    _time("TO_TIMESTAMP", _read_timestamp,
          signature(_TEXT, _FORMAT, gives=_MILLIS, optional=1, nulls=Nulls.ALWAYS), note=_PATTERNS),
    _time("TO_TIMESTAMP_LTZ", _instant,
          signature(Parameter("epoch", NUMBER), Parameter("digits", INTEGER, INT, literal=True),
                    gives=(_instant_type, "TIMESTAMP_LTZ(3)"), optional=1, nulls=Nulls.ALWAYS),
          signature(_TEXT, _FORMAT, Parameter("zone", TEXT), gives=(_instant_type, "TIMESTAMP_LTZ(3)"), optional=2,
                    nulls=Nulls.ALWAYS),
          note=f"{_PATTERNS} A timestamp has six fraction digits."),
)  # fmt: skip
