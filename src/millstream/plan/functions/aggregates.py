"""Aggregates: declared like other functions, computed by an operator of their own."""

from __future__ import annotations

from typing import Final

from millstream.plan.functions.declaration import (
    ANY,
    NUMBER,
    TEXT,
    Category,
    Family,
    Function,
    Given,
    MismatchError,
    Nulls,
    Parameter,
    Signature,
    signature,
)
from millstream.plan.functions.results import average_of, bare, nullable, sum_of
from millstream.sql.types import BIGINT, NESTED, STRING, DataType, TypeRoot

_SPREAD: Final = "The result has the number's type, as AVG has it: of integers it is cut off to an integer."
_ORDERED: Final = Family("a value that has an order", ANY.roots - NESTED)
_NUMBER: Final = Parameter("number", NUMBER)
_VALUE: Final = Parameter("value")


def _aggregate(name: str, *signatures: Signature, note: str = "", written: str | None = None) -> Function:
    return Function(name, Category.AGGREGATE, signatures, None, note=note, written=written)


def _sum(given: Given) -> DataType:
    return sum_of(given.types[0])


def _average(given: Given) -> DataType:
    return average_of(given.types[0])


def _same(given: Given) -> DataType:
    return nullable(given.types[0])


def _multiset(given: Given) -> DataType:
    return DataType(TypeRoot.MULTISET, element=given.types[0].not_null())


def _array(given: Given) -> DataType:
    if given.types[0].root is TypeRoot.NULL:
        raise MismatchError(f"ARRAY_AGG needs a value of a known type, and this is {bare(given.types[0])}")
    return DataType(TypeRoot.ARRAY, element=given.types[0])


_AVERAGED: Final = signature(_NUMBER, gives=(_average, "the number's type"), nulls=Nulls.ALWAYS)
_ONE: Final = signature(Parameter("value", _ORDERED), gives=(_same, "the value's type"), nulls=Nulls.ALWAYS)
_ANY_ONE: Final = signature(_VALUE, gives=(_same, "the value's type"), nulls=Nulls.ALWAYS)

FUNCTIONS: Final = (
    _aggregate(
        "COUNT", signature(_VALUE, gives=BIGINT, nulls=Nulls.NEVER), written="COUNT(*) or COUNT([DISTINCT] value)"
    ),
    _aggregate("SUM", signature(_NUMBER, gives=(_sum, "the number's type"), nulls=Nulls.ALWAYS)),
    _aggregate("AVG", _AVERAGED),
    _aggregate("MIN", _ONE),
    _aggregate("MAX", _ONE),
    *(
        _aggregate(name, _AVERAGED, note=_SPREAD if name == "STDDEV_POP" else "")
        for name in ("STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV")
    ),
    _aggregate("FIRST_VALUE", _ANY_ONE),
    _aggregate("LAST_VALUE", _ANY_ONE),
    _aggregate(
        "LISTAGG",
        signature(
            Parameter("text", TEXT),
            Parameter("separator", TEXT, literal=True),
            gives=STRING,
            optional=1,
            nulls=Nulls.ALWAYS,
        ),
    ),
    _aggregate("COLLECT", signature(_VALUE, gives=(_multiset, "MULTISET"), nulls=Nulls.ALWAYS)),
    *(
        _aggregate(name, signature(_VALUE, gives=BIGINT, repeats=True, nulls=Nulls.NEVER))
        for name in ("GROUPING", "GROUPING_ID")
    ),
    _aggregate("GROUP_ID", signature(gives=BIGINT, nulls=Nulls.NEVER)),
    _aggregate("ARRAY_AGG", signature(_VALUE, gives=(_array, "ARRAY"), nulls=Nulls.ALWAYS)),
)
