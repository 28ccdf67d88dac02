"""Casts between types with Flink's results, as Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.casts import is_cut
from millstream.plan.functions.spark_text import field_of, quote, truncate, valid_text
from millstream.spark.times_of_day import text_of_time, time_of_text, time_of_timestamp, timestamp_of_time
from millstream.spark.types import spark_type
from millstream.sql.types import BINARIES, CHARACTER, INT, INTEGERS, NUMERIC, TIMESTAMPS, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

_WITH_FRACTION: Final = quote(r"^\s*([+-]?\d+)\.\d*\s*$")
_WHOLE: Final = "'$1'"
_DEFAULT_DIGITS: Final = 6
_ENTRY: Final = "(millstream_key, millstream_value) -> concat(millstream_key, '=', millstream_value)"


def _item(depth: int) -> str:
    """The variable of a lambda over elements: a name that no column has."""
    return f"millstream_item{depth}"


def coerce(text: str, found: DataType, wanted: DataType) -> str:
    """The same value in a wider type, or a text as a number and vice versa; nothing is cut or padded."""
    if spark_type(found) == spark_type(wanted):
        return text
    if wanted.root is TypeRoot.TIME or _is_text_and_number(found, wanted):
        return convert(text, found, wanted)
    return f"CAST({text} AS {spark_type(wanted)})"


def store(text: str, found: DataType, wanted: DataType) -> str:
    """A value in a column that it fits without a CAST; a timestamp still loses digits that the column does not have."""
    return convert(text, found, wanted) if is_cut(found, wanted) else f"CAST({text} AS {spark_type(wanted)})"


def convert(text: str, found: DataType, wanted: DataType, *, attempt: bool = False, depth: int = 0) -> str:
    """CAST, or with `attempt` TRY_CAST."""
    cast = f"{'try_cast' if attempt else 'CAST'}({{}} AS {spark_type(wanted)})"
    result = cast.format(text)
    if found.root is TypeRoot.NULL:
        result = f"CAST(NULL AS {spark_type(wanted)})"
    elif wanted.root in CHARACTER:
        result = _fit_text(_as_text(text, found, depth), wanted)
    elif wanted.root in BINARIES:
        result = _fit_bytes(result, wanted)
    elif wanted.root is TypeRoot.TIME and found.root is not TypeRoot.TIME:
        result = time_of_text(text, attempt=attempt) if found.root in CHARACTER else time_of_timestamp(text)
    elif found.root is TypeRoot.TIME and wanted.root in TIMESTAMPS:
        result = timestamp_of_time(text, spark_type(wanted))
    elif wanted.root in TIMESTAMPS:
        is_exact = found.root in TIMESTAMPS and _digits(found) <= _digits(wanted)
        moved = text if found.root is wanted.root else result
        result = moved if is_exact else truncate(moved, _digits(wanted), with_zone=_has_zone(wanted))
    elif wanted.root in INTEGERS and found.root in CHARACTER:
        result = cast.format(f"regexp_replace({text}, {_WITH_FRACTION}, {_WHOLE})")
    elif wanted.root is TypeRoot.DECIMAL and found.root in NUMERIC:  # a number with too many digits is NULL in Flink
        result = f"try_cast({text} AS {spark_type(wanted)})"
    elif wanted.root in (TypeRoot.ARRAY, TypeRoot.MAP, TypeRoot.ROW):
        result = _cast_nested(text, found, wanted, attempt=attempt, depth=depth)
    return result


def _cast_nested(text: str, found: DataType, wanted: DataType, *, attempt: bool, depth: int) -> str:
    if spark_type(found) == spark_type(wanted) and not is_cut(found, wanted):
        return text

    def each(values: str, before: DataType | None, after: DataType | None) -> str:
        assert before is not None
        assert after is not None
        inner = convert(_item(depth), before, after, attempt=attempt, depth=depth + 1)
        return values if inner == _item(depth) else f"transform({values}, {_item(depth)} -> {inner})"

    if wanted.root is TypeRoot.ARRAY:
        return each(text, found.element, wanted.element)
    if wanted.root is TypeRoot.MAP:
        keys = each(f"map_keys({text})", found.key, wanted.key)
        return f"map_from_arrays({keys}, {each(f'map_values({text})', found.element, wanted.element)})"
    fields = (
        f"{quote(after.name)}, "
        f"{convert(field_of(text, before.name), before.type, after.type, attempt=attempt, depth=depth)}"
        for before, after in zip(found.fields, wanted.fields, strict=True)
    )
    return f"if({text} IS NULL, NULL, named_struct({', '.join(fields)}))"


def _as_text(text: str, found: DataType, depth: int = 0) -> str:
    if found.root in CHARACTER:
        return text
    write = _WRITERS.get(found.root)
    return f"CAST({text} AS STRING)" if write is None else write(text, found, depth)


def _timestamp_text(text: str, found: DataType, _: int) -> str:
    digits = _digits(found)
    fraction = f".{'S' * digits}" if digits else ""
    return f"date_format({text}, 'yyyy-MM-dd HH:mm:ss{fraction}')"


def _array_text(text: str, found: DataType, depth: int) -> str:
    return f"concat('[', array_join({_texts(text, found.element, depth)}, ', '), ']')"


def _map_text(text: str, found: DataType, depth: int) -> str:
    keys = _texts(f"map_keys({text})", found.key or found.element, depth)
    values = _texts(f"map_values({text})", INT if found.key is None else found.element, depth)
    return f"concat('{{', array_join(zip_with({keys}, {values}, {_ENTRY}), ', '), '}}')"


def _row_text(text: str, found: DataType, depth: int) -> str:
    fields = (_or_null(_as_text(field_of(text, f.name), f.type, depth)) for f in found.fields)
    return f"if({text} IS NULL, NULL, concat('(', concat_ws(', ', {', '.join(fields)}), ')'))"


def _months_text(text: str, _: DataType, __: int) -> str:
    months = f"(extract(YEAR FROM {text}) * 12 + extract(MONTH FROM {text}))"
    return f"format_string('%s%d-%02d', if({months} < 0, '-', '+'), abs({months}) div 12, abs({months}) % 12)"


def _day_time_text(text: str, _: DataType, __: int) -> str:
    millis = f"CAST(extract(DAY FROM {text}) * 86400000L + extract(HOUR FROM {text}) * 3600000L "
    millis += f"+ extract(MINUTE FROM {text}) * 60000L + extract(SECOND FROM {text}) * 1000 AS BIGINT)"
    numbers = ", ".join(
        f"abs({millis}) div {unit}L{f' % {limit}L' if limit else ''}"
        for unit, limit in ((86_400_000, 0), (3_600_000, 24), (60_000, 60), (1000, 60), (1, 1000))
    )
    return f"format_string('%s%d %02d:%02d:%02d.%03d', if({millis} < 0, '-', '+'), {numbers})"


def _texts(values: str, element: DataType | None, depth: int) -> str:
    assert element is not None
    inner = _or_null(_as_text(_item(depth), element, depth + 1))
    return f"transform({values}, {_item(depth)} -> {inner})"


def _or_null(text: str) -> str:
    return f"coalesce({text}, 'NULL')"


def _fit_text(text: str, wanted: DataType) -> str:
    match wanted.root:
        case TypeRoot.CHAR:
            return f"rpad({text}, {wanted.precision}, ' ')"
        case TypeRoot.VARCHAR:
            return f"substring({text}, 1, {wanted.precision})"
        case _:
            return text


def _fit_bytes(value: str, wanted: DataType) -> str:
    match wanted.root:
        case TypeRoot.BINARY:
            return f"rpad({value}, {wanted.precision}, X'00')"
        case TypeRoot.VARBINARY:
            return f"substring({value}, 1, {wanted.precision})"
        case _:
            return value


def _is_text_and_number(found: DataType, wanted: DataType) -> bool:
    pairs = ((found.root, wanted.root), (wanted.root, found.root))
    return any(one in CHARACTER and other in NUMERIC for one, other in pairs)


def _has_zone(type_: DataType) -> bool:
    return type_.root is TypeRoot.TIMESTAMP_LTZ


def _digits(type_: DataType) -> int:
    return _DEFAULT_DIGITS if type_.precision is None else type_.precision


def _decoded_text(text: str, _: DataType, __: int) -> str:
    return valid_text(f"CAST({text} AS STRING)")


_WRITERS: Final[dict[TypeRoot, Callable[[str, DataType, int], str]]] = {
    **dict.fromkeys(BINARIES, _decoded_text),
    TypeRoot.BOOLEAN: lambda text, _, __: f"upper(CAST({text} AS STRING))",
    TypeRoot.TIME: lambda text, _, __: text_of_time(text),
    TypeRoot.TIMESTAMP: _timestamp_text,
    TypeRoot.TIMESTAMP_LTZ: _timestamp_text,
    TypeRoot.ARRAY: _array_text,
    TypeRoot.MAP: _map_text,
    TypeRoot.MULTISET: _map_text,
    TypeRoot.ROW: _row_text,
    TypeRoot.INTERVAL_YEAR_MONTH: _months_text,
    TypeRoot.INTERVAL_DAY_TIME: _day_time_text,
}
"""How a value is written as text, where Spark would write it differently."""
