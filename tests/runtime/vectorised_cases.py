"""Expressions that are evaluated on Arrow data, and random rows of every type for them."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from millstream.formats.arrow_types import arrow_type
from millstream.sql.type_text import type_of_text

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS: Final = 2_000
COLUMNS: Final = {
    "b": "BOOLEAN", "c": "BOOLEAN", "i1": "TINYINT", "i2": "SMALLINT", "i4": "INT", "j4": "INT", "i8": "BIGINT",
    "j8": "BIGINT", "f4": "FLOAT", "g4": "FLOAT", "f8": "DOUBLE", "g8": "DOUBLE", "d": "DECIMAL(10, 2)",
    "e": "DECIMAL(12, 4)", "w": "DECIMAL(30, 6)", "s": "STRING", "r": "STRING", "v": "VARCHAR(8)", "n": "STRING", "x": "STRING", "o": "STRING",
    "y": "BYTES", "z": "BYTES", "da": "DATE", "db": "DATE", "t": "TIMESTAMP(3)", "u": "TIMESTAMP(6)",
    "t9": "TIMESTAMP(9)", "l": "TIMESTAMP_LTZ(3)", "m": "TIMESTAMP_LTZ(6)", "h": "TIME", "k": "TIME",
}  # fmt: skip
_LETTERS: Final = "aAbBzZ ,%_\\.19äÄßéÉ你\u0130\u0131\u017f\u03a3\u03c3\u03c2\u01c5\ufb01\U0001d11e\n\t'\"$"
_FLOATS: Final = (0.0, -0.0, 1.0, -1.5, 2.5, float("nan"), float("inf"), -float("inf"), 1e10, -1e-10, 16777217.0, 0.1)


def _text(rng: random.Random) -> str:
    return "".join(rng.choices(_LETTERS, k=rng.choice((0, 1, 2, 3, 8, 20))))


def _float(rng: random.Random) -> float:
    return rng.choice(_FLOATS) if rng.random() < 0.5 else rng.uniform(-1e6, 1e6)


def _integer(bits: int) -> Callable[[random.Random], int]:
    def draw(rng: random.Random) -> int:
        most = 2 ** (bits - 1)
        return rng.choice((0, 1, -1, 7, most - 1, -most)) if rng.random() < 0.5 else rng.randrange(-most, most)

    return draw


def _decimal(digits: int, scale: int) -> Callable[[random.Random], Decimal]:
    def draw(rng: random.Random) -> Decimal:
        most = 10 ** rng.choice((1, 3, digits))
        return Decimal(f"{rng.choice((0, 5, -5, most - 1, 1 - most, rng.randrange(-most + 1, most)))}E-{scale}")

    return draw


def _moment(digits: int) -> Callable[[random.Random], datetime]:
    def draw(rng: random.Random) -> datetime:
        start = rng.choice(
            (datetime(1970, 1, 1), datetime(2024, 2, 28, 23, 59), datetime(1, 1, 2), datetime(9999, 12, 30))
        )
        micros = rng.choice((0, -1, 999_999, rng.randrange(-86_400_000_000, 86_400_000_000)))
        return start + timedelta(microseconds=micros - micros % 10 ** (6 - digits))

    return draw


def _number_text(rng: random.Random) -> str:
    number = str(rng.choice((0, 7, -7, 123456, 2**40, -(2**63), rng.randrange(-1000, 1000))))
    return rng.choice(("{}", "{}", "{}", " {} ", "{}.9", "{}.", "\t{}\n")).format(number)


def _date_text(rng: random.Random) -> str:
    year = rng.choice(
        (
            "2024",
            "0001",
            "9999",
            "1970",
            "12024",
            "5881580",
            "5881581",
            "999",
            "-0044",
            "+2024",
            "1900",
            "0000",
            "-5877641",
            "9999999",
        )
    )
    month, day = (
        rng.choice(("1", "02", "12", "13", "0", "06", "")),
        rng.choice(("1", "22", "23", "29", "30", "31", "32", "0", "11", "12")),
    )
    form = rng.choice(
        ("{0}-{1}-{2}",) * 6
        + (
            "{0}",
            "{0}-{1}",
            "{0}-{1}-",
            " {0}-{1}-{2}\t",
            "{0}-{1}-{2} 10:00",
            "{0}-{1}-{2}Tx",
            "{0}-{1}T",
            "{0}-{1}-{2}x",
            "{0}/{1}/{2}",
            "\x7f{0}-{1}-{2}\x00",
            "{0}-{1}-{2}-",
            "-{0}",
            "{0} ",
            "{0}T",
            "\u00a0{0}",
            "{0}-{1}-{2}T\n7",
        )
    )
    return form.format(year, month, day)


def _time_text(rng: random.Random) -> str:
    hour, minute, second = (
        rng.choice((str(rng.randrange(limit + 2)), f"{rng.randrange(limit):02d}")) for limit in (24, 60, 60)
    )
    form = rng.choice(
        ("{0}:{1}:{2}",) * 5
        + (
            "{0}",
            "{0}:{1}",
            "{0}:",
            "{0}:{1}:{2}.",
            "{0}:{1}:{2}.123456789",
            " {0} : {1}\n",
            "{0}:{1}:{2}Z",
            "T{0}:{1}",
            "{0}:{1}:{2} ",
            "{0}.5",
            "{0}:{1}.5",
            "\u2003{0}:{1}",
            "{0}:{1}\u2028",
            "{0}:{1}:{2}.5 UTC",
            "1{0}:{1}",
            "\x0b{0}:{1}",
        )
    )
    return form.format(hour, minute, second)


_TEXTS: Final = {"n": _number_text, "x": _date_text, "o": _time_text}
_DRAW: Final[dict[str, Callable[[random.Random], Any]]] = {
    "BOOLEAN": lambda rng: rng.random() < 0.5,
    "TINYINT": _integer(8),
    "SMALLINT": _integer(16),
    "INT": _integer(32),
    "BIGINT": _integer(64),
    "FLOAT": _float,
    "DOUBLE": _float,
    "DECIMAL(10, 2)": _decimal(10, 2),
    "DECIMAL(12, 4)": _decimal(12, 4),
    "DECIMAL(30, 6)": _decimal(30, 6),
    "STRING": _text,
    "VARCHAR(8)": lambda rng: _text(rng)[:8],
    "BYTES": lambda rng: rng.randbytes(rng.choice((0, 1, 2, 5))),
    "DATE": lambda rng: (
        rng.choice((date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29)))
        if rng.random() < 0.3
        else date(1960, 1, 1) + timedelta(days=rng.randrange(40_000))
    ),
    "TIMESTAMP(3)": _moment(3),
    "TIMESTAMP(6)": _moment(6),
    "TIMESTAMP(9)": _moment(6),
    "TIMESTAMP_LTZ(3)": _moment(3),
    "TIMESTAMP_LTZ(6)": _moment(6),
    "TIME": lambda rng: rng.choice((0, 86_399_999, rng.randrange(86_400_000))),
}


def draw_rows() -> pa.Table:
    rng = random.Random(7)

    def draw(name: str, type_: str) -> Any:
        if rng.random() < 0.15:
            return None
        return _TEXTS[name](rng) if name in _TEXTS else _DRAW[type_](rng)

    return pa.table(
        {
            name: pa.array([draw(name, type_) for _ in range(ROWS)], arrow_type(type_of_text(type_)))
            for name, type_ in COLUMNS.items()
        }
    )


_COMPARED: Final = (
    ("i4", "j4"), ("i1", "i8"), ("i8", "j8"), ("f4", "g4"), ("f8", "g8"), ("f4", "f8"), ("i8", "f8"), ("d", "e"), ("i4", "d"),
    ("s", "r"), ("s", "v"), ("b", "c"), ("y", "z"), ("da", "db"), ("t", "u"), ("l", "m"), ("t", "l"), ("da", "t"),
    ("h", "k"), ("w", "d"), ("f8", "10.5"), ("i4", "7"), ("s", "'a'"), ("da", "DATE '2024-02-29'"),
    ("t", "TIMESTAMP '2024-02-28 23:59:00'"), ("d", "0.05"), ("i8", "1.5"),
)  # fmt: skip
EXPRESSIONS: Final = (
    *(f"{x} {operator} {y}" for x, y in _COMPARED for operator in ("=", "<>", "<", "<=", ">", ">=")),
    *(f"{x} IS DISTINCT FROM {y}" for x, y in _COMPARED), *(f"{x} IS NOT DISTINCT FROM {y}" for x, y in _COMPARED),
    *(f"GREATEST({x}, {y})" for x, y in _COMPARED), *(f"LEAST({y}, {x})" for x, y in _COMPARED),
    *(f"COALESCE({x}, {y})" for x, y in _COMPARED), *(f"NULLIF({x}, {y})" for x, y in _COMPARED),
    *(f"CASE WHEN b THEN {x} WHEN c THEN {y} END" for x, y in _COMPARED),
    *(f"IF(b, {x}, {y})" for x, y in _COMPARED), *(f"{name} IS NULL" for name in COLUMNS),
    "b AND c", "b OR c", "NOT b", "b IS TRUE", "b IS NOT TRUE", "b IS FALSE", "b IS UNKNOWN", "NOT (b AND c) OR c",
    "i4 BETWEEN -1 AND j4", "i4 NOT BETWEEN j4 AND 7", "f8 BETWEEN SYMMETRIC g8 AND 1", "s BETWEEN 'A' AND 'b'",
    "i4 IN (0, 7, -1)", "i4 IN (0, NULL)", "i4 NOT IN (0, 7)", "s IN ('', 'a', 'ä')", "f8 IN (0, 2.5)", "d IN (0.05, 1)",
    "f4 IN (CAST(0.1 AS FLOAT), CAST(2.5 AS FLOAT))", "i8 IN (7, 9223372036854775807)",
    "da IN (DATE '2024-02-29', DATE '0001-01-01')", "y IN (X'', X'01')", "v IN ('a', 'b ')",
    "s LIKE 'a%'", "s LIKE '%a'", "s LIKE '%a%'", "s LIKE '_a'", "s LIKE 'a_%b'", "s LIKE ''", "s LIKE '%'",
    "s LIKE '%!%' ESCAPE '!'", "s LIKE '%!_%' ESCAPE '!'", "s NOT LIKE '%ä%'", "s LIKE '_'", "s LIKE '__%'", "s LIKE '%.%'",
    "s LIKE 'a.%'", "s LIKE '%$'", "s LIKE '%''%'",
    "CAST(i4 AS BIGINT) + j4", "CAST(i4 AS BIGINT) * j4", "CAST(i4 AS BIGINT) - i1", "f8 + g8", "f8 - g8", "f8 * g8",
    "f8 / g8", "f4 + g4", "f4 * g4", "f4 / g4", "f4 - f8", "i4 + f8", "i8 * f8", "i4 / f8", "d + e", "d - e", "d * e",
    "d + 1", "d * i4", "i4 - e", "d * 2.50", "CASE WHEN j4 <> 0 THEN CAST(i4 AS BIGINT) / j4 END",
    "CASE WHEN j8 <> 0 AND i8 > -9223372036854775808 THEN i8 / j8 END", "CASE WHEN j8 <> 0 THEN i8 % j8 END",
    "CASE WHEN i1 <> 0 THEN i4 % i1 END", "CASE WHEN i1 <> 0 THEN MOD(i1, i1) END", "CASE WHEN j4 <> 0 THEN i1 % j4 END",
    "-CAST(i4 AS BIGINT)", "-f8", "-d", "ABS(CAST(i4 AS BIGINT))", "ABS(f8)", "ABS(d)", "ABS(f4)",
    "s || r", "CONCAT(s, v, 'x')", "CONCAT_WS('-', s, r, v)", "CONCAT_WS('', s, r)", "CHAR_LENGTH(s)", "UPPER(s)", "LOWER(s)",
    "SUBSTRING(s, 2)", "SUBSTRING(s, 0, 2)", "SUBSTRING(s FROM 1 FOR 3)", "SUBSTR(s, 5, 0)", "SUBSTRING(v, 3, 100)",
    "LEFT(s, 2)", "LEFT(s, 0)", "RIGHT(s, 2)", "RIGHT(s, 0)", "TRIM(s)", "TRIM(BOTH 'aA ' FROM s)", "TRIM(LEADING 'a' FROM s)",
    "TRIM(TRAILING FROM s)", "LTRIM(s)", "RTRIM(s)", "BTRIM(s, ' ,')", "LTRIM(s, 'aä')", "REPLACE(s, 'a', 'bb')",
    "REPLACE(s, 'aA', '')", "REPLACE(s, ' ', '$1')", "STARTSWITH(s, 'a')", "STARTSWITH(s, '')", "ENDSWITH(s, 'ä')",
    "SPLIT_INDEX(s, ',', 0)", "SPLIT_INDEX(s, ',', 1)", "SPLIT_INDEX(s, 'a', 2)", "SPLIT_INDEX(s, '.', 0)",
    *(f"CAST({name} AS STRING)" for name in ("i1", "i2", "i4", "i8", "b", "da", "t", "u", "l", "m", "s", "v")),
    *(f"CAST({name} AS CHAR(3))" for name in ("i4", "s", "b")), *(f"CAST({name} AS VARCHAR(2))" for name in ("i4", "s", "b")),
    *(f"TRY_CAST({name} AS {type_})" for name in ("i4", "i8", "f4", "f8", "n", "s")
      for type_ in ("TINYINT", "SMALLINT", "INT", "BIGINT")),
    *(f"CAST({name} AS {type_})" for name in ("i1", "i4", "i8", "f4", "f8") for type_ in ("FLOAT", "DOUBLE")),
    *(f"CAST({name} AS {type_})" for name in ("i1", "i4", "i8", "d", "e", "w")
      for type_ in ("DECIMAL(5, 0)", "DECIMAL(4, 2)", "DECIMAL(12, 1)", "DECIMAL(20, 3)", "DECIMAL(30, 4)")),
    "CAST(b AS INT)", "CAST(n AS BIGINT)", "CAST(da AS TIMESTAMP(3))", "CAST(t AS DATE)", "CAST(u AS TIMESTAMP(0))",
    "CAST(u AS TIMESTAMP(2))", "CAST(m AS TIMESTAMP_LTZ(3))", "CAST(t AS TIMESTAMP_LTZ(6))", "CAST(m AS TIMESTAMP(3))",
    "CAST(l AS DATE)", "CAST(i4 AS INT)", "CAST(t9 AS STRING)", "CASE UPPER(s) WHEN 'A' THEN 1 WHEN 'B' THEN 2 ELSE CHAR_LENGTH(s) END",
    *(f"EXTRACT({part} FROM {name})" for name in ("da", "t", "u", "m")
      for part in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW", "ISOYEAR", "HOUR", "MINUTE", "SECOND",
                   "MILLISECOND", "MICROSECOND", "EPOCH")),
    *(f"{part}({name})" for name in ("da", "u", "l")
      for part in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR", "DAYOFMONTH", "DAYOFWEEK")),
    *(f"{part}({name})" for name in ("u", "h") for part in ("HOUR", "MINUTE", "SECOND")),
    *(f"FLOOR({name} TO {unit})" for name in ("t", "u", "l")
      for unit in ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")),
    *(f"{function}({name} TO {unit})" for function in ("FLOOR", "CEIL")
      for name, units in (("h", ()), ("da", ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR")), ("u", ("MILLISECOND",)))
      for unit in (*units, "SECOND", "MINUTE", "HOUR")),
    *(f"CEIL({name} TO {unit})" for name in ("t", "u", "l") for unit in ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR")),
    *(f"{function}({name})" for function in ("FLOOR", "CEIL") for name in ("i1", "i8", "f4", "f8", "d", "e", "w")),
    "ROUND(i4)", "ROUND(i8, 2)", "ROUND(d)", "ROUND(d, 1)", "ROUND(d, 5)", "ROUND(e, 2)", "ROUND(w, 3)", "ROUND(w, -3)", "ROUND(d, -1)",
    *(f"TIMESTAMPADD({unit}, {count}, {name})" for name in ("da", "u", "l") for count in ("i1", "-1", "13")
      for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")),
    *(f"TIMESTAMPADD({unit}, {count}, h)" for count in ("i4", "-1")
      for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")),
    "TIMESTAMPADD(YEAR, i2, CASE WHEN i2 BETWEEN -9999 AND 9999 THEN m END)", "TIMESTAMPADD(MONTH, i4 / 2000, t)",
    *(f"CAST({name} AS {type_})" for name in ("d", "e", "w") for type_ in ("FLOAT", "DOUBLE")), "d * f8", "w / f8", "w > f8",
    *(f"TRY_CAST({name} AS {type_})" for name in ("s", "n", "x", "o") for type_ in ("DATE", "TIME")), "TO_DATE(x)", "TO_DATE(s)",
    "TO_TIMESTAMP_LTZ(i8, 3)", "TO_TIMESTAMP_LTZ(i8, 0)", "TO_TIMESTAMP_LTZ(i4, 0)", "TO_TIMESTAMP_LTZ(i8, 6)", "TO_TIMESTAMP_LTZ(i4)",
    *(f"CASE WHEN t > TIMESTAMP '1950-01-01 00:00:00' AND u > TIMESTAMP '1950-01-01 00:00:00' "
      f"AND t < TIMESTAMP '2030-01-01 00:00:00' AND u < TIMESTAMP '2030-01-01 00:00:00' THEN TIMESTAMPDIFF({unit}, t, u) END"
      for unit in ("MINUTE", "HOUR", "DAY", "WEEK")), "TIMESTAMPDIFF(DAY, da, t)", "TIMESTAMPDIFF(WEEK, da, db)",
    "t + INTERVAL '1' HOUR", "u - INTERVAL '2.5' SECOND", "INTERVAL '1' DAY + l", "da + INTERVAL '1' DAY - INTERVAL '1' DAY",
    "da + INTERVAL '1' MONTH", "INTERVAL '1-2' YEAR TO MONTH + t", "u - INTERVAL '3' YEAR", "db - INTERVAL '13' MONTH", "l - INTERVAL '1' MONTH",
    *(f"DATE_FORMAT({name}, '{pattern}')" for name in ("t", "u", "l", "da")
      for pattern in ("yyyy-MM-dd", "yyyyMMddHHmmss", "HH:mm:ss.SSS", "dd/MM/yyyy HH", "yyyy-MM-dd HH:00")),
)  # fmt: skip
