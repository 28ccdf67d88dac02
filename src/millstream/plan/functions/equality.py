"""Whether two values are equal, as Spark SQL: Spark itself compares no maps, nor anything that holds one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.functions.results import holds
from millstream.plan.functions.spark_text import field_of
from millstream.sql.types import INT, TypeRoot

if TYPE_CHECKING:
    from millstream.sql.types import DataType


_MAPS: Final = (TypeRoot.MAP, TypeRoot.MULTISET)


def holds_map(type_: DataType) -> bool:
    return holds(type_, *_MAPS)


def equal(left: str, right: str, type_: DataType, depth: int = 0) -> str:
    """`left = right` for values of this type; NULL if one of them is."""
    if not holds_map(type_):
        return f"({left} = {right})"
    return f"if({left} IS NULL OR {right} IS NULL, NULL, {_same(left, right, type_, depth)})"


def equal_or_both_null(left: str, right: str, type_: DataType, depth: int = 0) -> str:
    """`left IS NOT DISTINCT FROM right`, which is also how what stands inside arrays and rows is compared."""
    if not holds_map(type_):
        return f"({left} <=> {right})"
    return f"coalesce({equal(left, right, type_, depth)}, {left} IS NULL AND {right} IS NULL)"


def _same(left: str, right: str, type_: DataType, depth: int) -> str:
    """Of values that are not NULL. Lambdas inside of each other need variables of different names, hence `depth`.

    Maps are equal if they have the same keys with equal values; as in Flink, no value of a map equals NULL.
    A multiset is a map from its elements to how often they are in it.
    """
    element = type_.element
    if type_.root is TypeRoot.ROW:
        fields = (
            equal_or_both_null(field_of(left, field.name), field_of(right, field.name), field.type, depth)
            for field in type_.fields
        )
        return f"({' AND '.join(fields)})"
    assert element is not None
    if type_.root is TypeRoot.ARRAY:
        one, other = f"millstream_one{depth}", f"millstream_other{depth}"
        pairs = f"zip_with({left}, {right}, ({one}, {other}) -> {equal_or_both_null(one, other, element, depth + 1)})"
        matched = f"forall({pairs}, millstream_same -> millstream_same)"
    else:
        key = f"millstream_key{depth}"
        one, other = (f"try_element_at({side}, {key})" for side in (left, right))
        value = INT if type_.root is TypeRoot.MULTISET else element
        matched = f"forall(map_keys({left}), {key} -> coalesce({equal(one, other, value, depth + 1)}, FALSE))"
    return f"(size({left}) = size({right}) AND {matched})"
