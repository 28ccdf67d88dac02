"""Conditions and the choice between values."""

from __future__ import annotations

from typing import Final

from millstream.plan.functions.comparison import comparison_type
from millstream.plan.functions.equality import equal
from millstream.plan.functions.results import bare, common, common_type, require_order
from millstream.plan.functions.spark_text import quote, to_common_type
from millstream.sql.functions import (
    CONDITION,
    NUMBER,
    TEXT,
    Category,
    Function,
    Given,
    MismatchError,
    Nulls,
    Parameter,
    SparkCall,
    signature,
)
from millstream.sql.types import BOOLEAN, INTEGERS, STRING, DataType, TypeRoot

_VALUE: Final = Parameter("value")
_OTHER: Final = Parameter("other")
_COMMON: Final = "the type that all fit into"


def _case_type(given: Given) -> DataType:
    for at in range(0, len(given) - len(given) % 2, 2):
        if given.types[at].root not in (TypeRoot.BOOLEAN, TypeRoot.NULL):
            raise MismatchError(f"WHEN needs a BOOLEAN condition, not {bare(given.types[at])}", argument=at)
    values = [*range(1, len(given), 2), *([len(given) - 1] if len(given) % 2 else [])]
    found: DataType | None = None
    for at in values:
        try:
            found = given.types[at] if found is None else common_type([found, given.types[at]])
        except MismatchError as error:
            raise MismatchError(str(error), error.hint, at) from None
    return common_type([given.types[at] for at in values])


def _case(call: SparkCall) -> str:
    """Conditions and results take turns; a single last one is what ELSE gives."""
    branches = "".join(
        f" WHEN {call[i]} THEN {call.as_type(i + 1, call.result)}" for i in range(0, len(call.texts) - 1, 2)
    )
    default = f" ELSE {call.as_type(len(call.texts) - 1, call.result)}" if len(call.texts) % 2 else ""
    return f"CASE{branches}{default} END"


def _null_if(call: SparkCall) -> str:
    type_ = comparison_type(call.given.types)
    return f"if({equal(call.as_type(0, type_), call.as_type(1, type_), type_)}, NULL, {call[0]})"


def _null_if_type(given: Given) -> DataType:
    comparison_type(given.types)
    return given.types[0].or_null()


def _either(call: SparkCall) -> str:
    return f"if({call[0]}, {call.as_type(1, call.result)}, {call.as_type(2, call.result)})"


def _extreme(name: str) -> Function:
    def spark(call: SparkCall) -> str:
        texts = [call.as_type(i, call.result) for i in range(len(call.texts))]
        if len(texts) == 1:
            return texts[0]
        return f"if({' OR '.join(f'{text} IS NULL' for text in texts)}, NULL, {name.lower()}({', '.join(texts)}))"

    def result(given: Given) -> DataType:
        found = common_type(given.types)
        require_order(found)
        return found

    return Function(name, Category.CONDITIONAL, (signature(_VALUE, gives=(result, _COMMON), repeats=True),), spark)


def _matching(name: str, regex: str) -> Function:
    def spark(call: SparkCall) -> str:
        if call.given.types[0].root in NUMBER.roots:
            is_digit = name == "IS_DIGIT" and call.given.types[0].root in INTEGERS
            return f"({call[0]} IS NOT NULL AND {'TRUE' if is_digit else 'FALSE'})"
        return f"coalesce({call[0]} RLIKE {quote(regex)}, FALSE)"

    return Function(name, Category.CONDITIONAL, _TEXT_OR_NUMBER, spark)


def _is_decimal(call: SparkCall) -> str:
    if call.given.types[0].root in NUMBER.roots:
        return f"({call[0]} IS NOT NULL)"
    return f"(try_cast({call[0]} AS DOUBLE) IS NOT NULL)"


_TEXT_OR_NUMBER: Final = tuple(
    signature(Parameter("value", family), gives=BOOLEAN, nulls=Nulls.NEVER) for family in (TEXT, NUMBER)
)

FUNCTIONS: Final = (
    Function(
        "CASE", Category.CONDITIONAL,
        (signature(_VALUE, _OTHER, gives=(_case_type, _COMMON), repeats=True, nulls=Nulls.ALWAYS),), _case,
        written="CASE value WHEN value, … THEN result … [ELSE result] END or CASE WHEN condition THEN result … END",
    ),
    Function(
        "NULLIF", Category.CONDITIONAL,
        (signature(_VALUE, _OTHER, gives=(_null_if_type, "the value's type"), nulls=Nulls.ALWAYS),), _null_if,
    ),
    Function(
        "COALESCE", Category.CONDITIONAL, (signature(_VALUE, gives=(common(), _COMMON), repeats=True),),
        to_common_type("coalesce({rest})"),
    ),
    Function(
        "IF", Category.CONDITIONAL,
        (signature(Parameter("condition", CONDITION), _VALUE, _OTHER, gives=(common(1), _COMMON), nulls=Nulls.ALWAYS),),
        _either,
    ),
    Function(
        "IFNULL", Category.CONDITIONAL, (signature(_VALUE, _OTHER, gives=(common(), _COMMON)),),
        to_common_type("coalesce({rest})"),
    ),
    _extreme("GREATEST"),
    _extreme("LEAST"),
    _matching("IS_ALPHA", r"^\p{L}+$"),
    _matching("IS_DIGIT", r"^\p{Nd}+$"),
    Function("IS_DECIMAL", Category.CONDITIONAL, _TEXT_OR_NUMBER, _is_decimal),
    Function(
        "TYPEOF", Category.CONVERSION,
        (signature(_VALUE, Parameter("serializable", CONDITION, literal=True), gives=STRING, optional=1),),
        lambda call: quote(str(call.given.types[0])),
    ),
)  # fmt: skip
