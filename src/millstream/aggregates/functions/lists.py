"""LISTAGG, ARRAY_AGG and COLLECT: results as long as their group, so all values of the group are read each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.aggregates.libraries import pa, pl
from millstream.aggregates.record import AggregateFunction, KeepsValues
from millstream.sql.functions import TEXT, MismatchError, Nulls, Parameter, signature
from millstream.sql.types import STRING, DataType, TypeRoot

if TYPE_CHECKING:
    from millstream.aggregates.calls import Call, Entries
    from millstream.sql.functions import Given

_SEPARATOR: Final = ","


def _multiset_of(given: Given) -> DataType:
    return DataType(TypeRoot.MULTISET, element=given.types[0].not_null())


def _array_of(given: Given) -> DataType:
    [element] = given.types
    if element.root is TypeRoot.NULL:
        raise MismatchError(f"ARRAY_AGG needs a value of a known type, not {element.or_null()}")
    return DataType(TypeRoot.ARRAY, element=element)


def _list_type(element: pa.DataType) -> pa.DataType:
    return pa.list_(element)


def _join(call: Call, entries: Entries) -> pl.Expr:
    [separator] = call.parameters or (_SEPARATOR,)
    return entries.value.str.join(separator)


def _count(_: Call, entries: Entries) -> pl.Expr:
    return pl.struct(entries.value.alias("key"), entries.count.cast(pl.Int32).alias("value"))


FUNCTIONS: Final = (
    AggregateFunction(
        name="LISTAGG",
        signatures=(
            signature(
                Parameter("text", TEXT),
                Parameter("separator", TEXT, literal=True),
                gives=STRING,
                optional=1,
                nulls=Nulls.ALWAYS,
            ),
        ),
        result_type=lambda _: pa.string(),
        reads=_join,
        keeps_values=KeepsValues.ALWAYS,
        needs_order=True,
        defaults=(_SEPARATOR,),
    ),
    AggregateFunction(
        name="ARRAY_AGG",
        signatures=(signature(Parameter("value"), gives=(_array_of, "ARRAY"), nulls=Nulls.ALWAYS),),
        result_type=_list_type,
        reads=lambda _, entries: entries.value,
        keeps_values=KeepsValues.ALWAYS,
        needs_order=True,
        keeps_nulls=True,
    ),
    AggregateFunction(
        name="COLLECT",
        signatures=(signature(Parameter("value"), gives=(_multiset_of, "MULTISET"), nulls=Nulls.ALWAYS),),
        result_type=lambda argument: pa.map_(argument, pa.int32()),
        reads=_count,
        of_nothing=[],
        keeps_values=KeepsValues.ALWAYS,
    ),
)
