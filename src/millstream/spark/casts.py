"""Values of one type as another, with Flink's results, as Spark SQL."""

from __future__ import annotations

from typing import Final

from millstream.plan.functions.spark_text import quoted, truncated
from millstream.spark.types import quoted as quoted_name
from millstream.spark.types import spark_type
from millstream.sql.types import BINARIES, CHARACTER, INTEGERS, NUMERIC, TIMESTAMPS, DataType, TypeRoot

_WITH_FRACTION: Final = quoted(r"^\s*([+-]?\d+)\.\d*\s*$")
_WHOLE: Final = "'$1'"
_DEFAULT_DIGITS: Final = 6


def coerced(text: str, found: DataType, wanted: DataType) -> str:
    """The same value in a wider type; nothing is cut or padded."""
    return text if spark_type(found) == spark_type(wanted) else f"CAST({text} AS {spark_type(wanted)})"


def converted(text: str, found: DataType, wanted: DataType, *, attempt: bool = False, depth: int = 0) -> str:
    """CAST, or with `attempt` TRY_CAST."""
    cast = f"{'try_cast' if attempt else 'CAST'}({{}} AS {spark_type(wanted)})"
    if found.root is TypeRoot.NULL:
        return f"CAST(NULL AS {spark_type(wanted)})"
    if wanted.root in CHARACTER:
        return _sized_text(_as_text(text, found, depth), wanted)
    if wanted.root in BINARIES:
        return _sized_bytes(cast.format(text), wanted)
    if wanted.root in TIMESTAMPS:
        is_exact = found.root in TIMESTAMPS and _digits(found) <= _digits(wanted)
        moved = text if found.root is wanted.root else cast.format(text)
        with_zone = wanted.root is TypeRoot.TIMESTAMP_LTZ
        return moved if is_exact else truncated(moved, _digits(wanted), with_zone=with_zone)
    if wanted.root in INTEGERS and found.root in CHARACTER:
        return cast.format(f"regexp_replace({text}, {_WITH_FRACTION}, {_WHOLE})")
    if wanted.root is TypeRoot.DECIMAL and found.root in NUMERIC:  # too many digits are NULL in Flink
        return text if found == wanted else f"try_cast({text} AS {spark_type(wanted)})"
    if wanted.root in (TypeRoot.ARRAY, TypeRoot.MAP, TypeRoot.ROW):
        return _nested(text, found, wanted, attempt=attempt, depth=depth)
    return cast.format(text)


def _nested(text: str, found: DataType, wanted: DataType, *, attempt: bool, depth: int) -> str:
    if spark_type(found) == spark_type(wanted):
        return text

    def each(values: str, before: DataType | None, after: DataType | None) -> str:
        assert before is not None
        assert after is not None
        inner = converted(f"x{depth}", before, after, attempt=attempt, depth=depth + 1)
        return values if inner == f"x{depth}" else f"transform({values}, x{depth} -> {inner})"

    if wanted.root is TypeRoot.ARRAY:
        return each(text, found.element, wanted.element)
    if wanted.root is TypeRoot.MAP:
        keys = each(f"map_keys({text})", found.key, wanted.key)
        return f"map_from_arrays({keys}, {each(f'map_values({text})', found.element, wanted.element)})"
    fields = (
        f"{quoted(after.name)}, "
        f"{converted(field_of(text, before.name), before.type, after.type, attempt=attempt, depth=depth)}"
        for before, after in zip(found.fields, wanted.fields, strict=True)
    )
    return f"if({text} IS NULL, NULL, named_struct({', '.join(fields)}))"


def field_of(row: str, name: str) -> str:
    return f"({row}).{quoted_name(name)}"


def _as_text(text: str, found: DataType, depth: int = 0) -> str:
    match found.root:
        case TypeRoot.BOOLEAN:
            return f"upper(CAST({text} AS STRING))"
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            digits = _digits(found)
            fraction = f".{'S' * digits}" if digits else ""
            return f"date_format({text}, 'yyyy-MM-dd HH:mm:ss{fraction}')"
        case TypeRoot.ARRAY:
            return f"concat('[', array_join({_texts(text, found.element, depth)}, ', '), ']')"
        case TypeRoot.MAP | TypeRoot.MULTISET:
            keys = _texts(f"map_keys({text})", found.key or found.element, depth)
            values = _texts(f"map_values({text})", found.element, depth)
            return f"concat('{{', array_join(zip_with({keys}, {values}, (k, v) -> concat(k, '=', v)), ', '), '}}')"
        case TypeRoot.ROW:
            fields = (_or_null(_as_text(field_of(text, f.name), f.type, depth)) for f in found.fields)
            return f"if({text} IS NULL, NULL, concat('(', concat_ws(', ', {', '.join(fields)}), ')'))"
        case TypeRoot.INTERVAL_YEAR_MONTH:
            months = f"(extract(YEAR FROM {text}) * 12 + extract(MONTH FROM {text}))"
            return f"format_string('%s%d-%02d', if({months} < 0, '-', '+'), abs({months}) div 12, abs({months}) % 12)"
        case TypeRoot.INTERVAL_DAY_TIME:
            return _day_time_text(text)
        case root:
            return text if root in CHARACTER else f"CAST({text} AS STRING)"


def _day_time_text(text: str) -> str:
    millis = f"CAST(extract(DAY FROM {text}) * 86400000L + extract(HOUR FROM {text}) * 3600000L "
    millis += f"+ extract(MINUTE FROM {text}) * 60000L + extract(SECOND FROM {text}) * 1000 AS BIGINT)"
    numbers = ", ".join(
        f"abs({millis}) div {unit}L{f' % {limit}L' if limit else ''}"
        for unit, limit in ((86_400_000, 0), (3_600_000, 24), (60_000, 60), (1000, 60), (1, 1000))
    )
    return f"format_string('%s%d %02d:%02d:%02d.%03d', if({millis} < 0, '-', '+'), {numbers})"


def _texts(values: str, element: DataType | None, depth: int) -> str:
    assert element is not None
    inner = _or_null(_as_text(f"x{depth}", element, depth + 1))
    return f"transform({values}, x{depth} -> {inner})"


def _or_null(text: str) -> str:
    return f"coalesce({text}, 'NULL')"


def _sized_text(text: str, wanted: DataType) -> str:
    match wanted.root:
        case TypeRoot.CHAR:
            return f"rpad({text}, {wanted.precision}, ' ')"
        case TypeRoot.VARCHAR:
            return f"substring({text}, 1, {wanted.precision})"
        case _:
            return text


def _sized_bytes(value: str, wanted: DataType) -> str:
    match wanted.root:
        case TypeRoot.BINARY:
            return f"rpad({value}, {wanted.precision}, X'00')"
        case TypeRoot.VARBINARY:
            return f"substring({value}, 1, {wanted.precision})"
        case _:
            return value


def _digits(type_: DataType) -> int:
    return _DEFAULT_DIGITS if type_.precision is None else type_.precision
