"""Which SQL type fits all values of a column of a sample, and what remains in doubt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.sql.render import write_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STRING: Final = "STRING"
_BIGINT: Final = "BIGINT"
_LARGEST: Final = (1 << 63) - 1
_MANY_FIELDS: Final = 20
"""Objects with more different fields than this, which few of them share, are maps."""
_SQL_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?")
_ISO_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?")
_TEXTS: Final = (
    (_SQL_TIME, "TIMESTAMP(3)"),
    (re.compile(_SQL_TIME.pattern + "Z"), "TIMESTAMP_LTZ(3)"),
    (_ISO_TIME, "TIMESTAMP(3)"),
    (re.compile(_ISO_TIME.pattern + "Z"), "TIMESTAMP_LTZ(3)"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "DATE"),
)
"""Forms of text that the json format reads as something else."""


@dataclass(frozen=True, slots=True)
class InferredType:
    sql: str
    doubt: str | None = None
    is_iso: bool = False
    """Whether it has times in ISO 8601, which the format has to be told."""


def infer_type(values: Iterable[Any]) -> InferredType:
    """Of values as JSON has them."""
    present = [value for value in values if value is not None]
    if not present:
        return InferredType(STRING, "always NULL in the sample")
    kinds = {type(value) for value in present}
    if kinds == {bool}:
        return InferredType("BOOLEAN")
    if kinds <= {int, float}:
        return _infer_number(present, kinds)
    if kinds == {str}:
        return _infer_text(present)
    if kinds == {list}:
        element = infer_type(item for value in present for item in value)
        return InferredType(f"ARRAY<{element.sql}>", element.doubt, element.is_iso)
    if kinds == {dict}:
        return _infer_object(present)
    names = sorted({_name_of(kind) for kind in kinds})
    return InferredType(STRING, f"{' and '.join(names)} in the sample")


def _infer_number(values: Sequence[float], kinds: set[type]) -> InferredType:
    if kinds == {int}:
        fits = all(-_LARGEST <= value <= _LARGEST for value in values)
        return InferredType(_BIGINT) if fits else InferredType("DECIMAL(38, 0)", "too large for BIGINT")
    return InferredType("DOUBLE", "DECIMAL keeps the digits of amounts" if _look_like_amounts(values) else None)


def _look_like_amounts(values: Sequence[float]) -> bool:
    return all(round(value, 2) == value for value in values)


def _infer_text(values: Sequence[str]) -> InferredType:
    for form, type_ in _TEXTS:
        if all(form.fullmatch(value) for value in values):
            return InferredType(type_, is_iso="T" in values[0])
    return InferredType(STRING)


def _infer_object(values: Sequence[dict[str, Any]]) -> InferredType:
    names = dict.fromkeys(name for value in values for name in value)
    if not names:
        return InferredType(f"MAP<STRING, {STRING}>", "always empty in the sample")
    if len(names) > _MANY_FIELDS and 2 * sum(map(len, values)) < len(names) * len(values):
        value = infer_type(item for each in values for item in each.values())
        return InferredType(f"MAP<STRING, {value.sql}>", value.doubt, value.is_iso)
    found = {name: infer_type(each.get(name) for each in values) for name in names}
    doubts = [f"{name}: {each.doubt}" for name, each in found.items() if each.doubt]
    fields = ", ".join(f"{write_name(name)} {each.sql}" for name, each in found.items())
    return InferredType(f"ROW<{fields}>", "; ".join(doubts) or None, any(each.is_iso for each in found.values()))


def _name_of(kind: type) -> str:
    names = {bool: "booleans", int: "numbers", float: "numbers", str: "texts", list: "arrays", dict: "objects"}
    return names.get(kind, kind.__name__)
