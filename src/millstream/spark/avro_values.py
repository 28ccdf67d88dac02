"""Values that Avro's bytes may hold and a column may not, and what Java makes of them, which Flink leaves it to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.formats.java_text import MILLIS_PER_DAY
from millstream.plan.functions.results import holds
from millstream.plan.functions.spark_text import field_of, quote, valid_text
from millstream.sql.types import CHARACTER, INT, STRING, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Form = Callable[[str], str]

_MAPS: Final = (TypeRoot.MAP, TypeRoot.MULTISET)
_BLANK: Final = "' '"
_HALVES: Final = {TypeRoot.TINYINT: 1 << 7, TypeRoot.SMALLINT: 1 << 15}
"""Avro has an int for each: half of the numbers that fit."""


def _outside(half: int) -> Form:
    return lambda number: f"{number} NOT BETWEEN -{half} AND {half - 1}"


def _narrow(half: int) -> Form:
    return lambda number: f"((({number}) & {2 * half - 1}) ^ {half}) - {half}"


_TIMES: Final[dict[TypeRoot, Form]] = {
    TypeRoot.TIME: lambda time: f"{time} NOT BETWEEN 0 AND {MILLIS_PER_DAY - 1}",
}
_TESTS: Final[dict[TypeRoot, Form]] = {
    **dict.fromkeys(CHARACTER, lambda text: f"NOT is_valid_utf8({text})"),
    **{root: _outside(half) for root, half in _HALVES.items()},
}
_REPAIRS: Final[dict[TypeRoot, Form]] = {
    **dict.fromkeys(CHARACTER, valid_text),
    **{root: _narrow(half) for root, half in _HALVES.items()},
}


def has_invalid_time(value: str, type_: DataType) -> str | None:
    """Whether a value is or contains a TIME outside the day; None if its type has none. NULL means no."""
    return _any(value, type_, _TIMES)


def needs_repair(value: str, type_: DataType) -> str | None:
    """The same for texts that are not UTF-8, and numbers that are too large."""
    return _any(value, type_, _TESTS)


def _any(value: str, type_: DataType, tests: Mapping[TypeRoot, Form], depth: int = 0) -> str | None:
    if type_.root in tests:
        return tests[type_.root](value)
    if not holds(type_, *tests):
        return None
    if type_.root is TypeRoot.ROW:
        return _or(*(_any(field_of(value, field.name), field.type, tests, depth) for field in type_.fields))
    if type_.root in _MAPS:
        key, element = _key_and_value(type_)
        keys = _any_element(f"map_keys({value})", key, tests, depth)
        return _or(keys, _any_element(f"map_values({value})", element, tests, depth))
    assert type_.element is not None
    return _any_element(value, type_.element, tests, depth)


def _any_element(values: str, type_: DataType, tests: Mapping[TypeRoot, Form], depth: int) -> str | None:
    if type_.root in CHARACTER and type_.root in tests:
        # Without a lambda, which Spark does not compile; a blank completes no sequence.
        return tests[type_.root](f"array_join({values}, {_BLANK})")
    inner = _any(_item(depth), type_, tests, depth + 1)
    return None if inner is None else f"exists({values}, {_item(depth)} -> {inner})"


def _or(*parts: str | None) -> str | None:
    found = [part for part in parts if part is not None]
    return f"({' OR '.join(found)})" if found else None


def repair(value: str, type_: DataType, depth: int = 0) -> str:
    """With U+FFFD for what is not UTF-8, and the lowest bits of numbers that are too large."""
    if type_.root in _REPAIRS:
        return _REPAIRS[type_.root](value)
    if not holds(type_, *_REPAIRS):
        return value
    if type_.root is TypeRoot.ROW:
        fields = (
            f"{quote(field.name)}, {repair(field_of(value, field.name), field.type, depth)}" for field in type_.fields
        )
        return f"if({value} IS NULL, NULL, named_struct({', '.join(fields)}))"
    if type_.root in _MAPS:
        key, element = _key_and_value(type_)
        values = _repair_each(f"map_values({value})", element, depth)
        return f"map_from_arrays({_repair_each(f'map_keys({value})', key, depth)}, {values})"
    assert type_.element is not None
    return _repair_each(value, type_.element, depth)


def _repair_each(values: str, type_: DataType, depth: int) -> str:
    inner = repair(_item(depth), type_, depth + 1)
    return values if inner == _item(depth) else f"transform({values}, {_item(depth)} -> {inner})"


def _key_and_value(type_: DataType) -> tuple[DataType, DataType]:
    """A MULTISET is a map to the number of occurrences; Avro's maps have texts as keys."""
    assert type_.element is not None
    return (STRING, INT) if type_.root is TypeRoot.MULTISET else (STRING, type_.element)


def _item(depth: int) -> str:
    """The variable of a lambda: a name that no column has."""
    return f"millstream_item{depth}"
