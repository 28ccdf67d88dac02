"""Comparisons and logic."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from millstream.plan.functions.equality import equal, equal_or_both_null, holds_map
from millstream.plan.functions.results import NoCommonTypeError, bare, common_type, require_order
from millstream.plan.functions.spark_text import quote
from millstream.sql.functions import (
    ANY,
    CONDITION,
    TEXT,
    Category,
    Family,
    Function,
    Given,
    MismatchError,
    Nulls,
    Parameter,
    SparkCall,
    signature,
)
from millstream.sql.types import BIGINT, BOOLEAN, CHARACTER, NESTED, NUMERIC, STRING, TIMESTAMPS, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_READ_FROM_TEXT: Final = TIMESTAMPS | {TypeRoot.DATE, TypeRoot.TIME}
_LEFT, _RIGHT = Parameter("left"), Parameter("right")
_ORDERED: Final = Family("a value that has an order", ANY.roots - NESTED | {TypeRoot.ARRAY, TypeRoot.ROW})
_CONDITIONS: Final = (Parameter("left", CONDITION), Parameter("right", CONDITION))
_JSON_KINDS: Final = {
    "": "IS NOT NULL",
    "VALUE": "IS NOT NULL",
    "OBJECT": "LIKE 'OBJECT%'",
    "ARRAY": "LIKE 'ARRAY%'",
    "SCALAR": "RLIKE '^(?!OBJECT|ARRAY)'",
}


def comparison_type(types: Sequence[DataType]) -> DataType:
    """The type in which values are found equal; a text meets a date, a time or a timestamp as one."""
    points = [type_ for type_ in types if type_.root in _READ_FROM_TEXT]
    try:
        return common_type([points[0] if points and type_.root in CHARACTER else type_ for type_ in types])
    except NoCommonTypeError as error:
        why = f"cannot compare {bare(error.left)} with {bare(error.right)}"
        raise MismatchError(why, "As in Flink, neither is converted to the other here: CAST one of the two.") from None


def ordering_type(types: Sequence[DataType]) -> DataType:
    """The type in which values are put in order; a text meets a number as a BIGINT would, so fractions may be cut."""
    has_number = any(type_.root in NUMERIC for type_ in types)
    found = comparison_type([BIGINT if has_number and type_.root in CHARACTER else type_ for type_ in types])
    require_order(found)
    return found


def membership_type(types: Sequence[DataType]) -> DataType:
    """The type in which IN looks for a value: in a list of texts a number's own, in a list of numbers a text."""
    value, listed = types[0].root, {type_.root for type_ in types[1:]} - {TypeRoot.NULL}
    if listed and value in CHARACTER and listed <= NUMERIC:
        return STRING
    return types[0] if listed and value in NUMERIC and listed <= CHARACTER else comparison_type(types)


def _comparison(
    name: str,
    spark: str,
    written: str,
    *parameters: Parameter,
    of_maps: Callable[[Sequence[str], DataType], str] | None = None,
    as_type: Callable[[Sequence[DataType]], DataType] = comparison_type,
    **options: object,
) -> Function:
    """`of_maps` writes the comparison for types that Spark does not compare."""

    def result(given: Given) -> DataType:
        as_type(given.types)
        return BOOLEAN

    def form(call: SparkCall) -> str:
        type_ = as_type(call.given.types)
        texts = [call.as_type(i, type_) for i in range(len(call.texts))]
        if of_maps is not None and holds_map(type_):
            return of_maps(texts, type_)
        return spark.format(*texts, rest=", ".join(texts[1:]))

    nulls = Nulls.NEVER if options.get("never_null") else Nulls.FROM_ARGUMENTS
    sign = signature(*parameters, gives=(result, "BOOLEAN"), repeats=bool(options.get("repeats")), nulls=nulls)
    return Function(name, Category.COMPARISON, (sign,), form, written=written)


def _like(call: SparkCall) -> str:
    """Flink's LIKE has no escape character unless one is given; Spark's has the backslash."""
    pattern, escape = call.given.values[1], call.given.values[2] if len(call.given) > 2 else None  # noqa: PLR2004
    if isinstance(pattern, str):
        return f"({call[0]} LIKE {quote(spark_pattern(pattern, escape if isinstance(escape, str) else None))})"
    if isinstance(escape, str):
        return f"({call[0]} LIKE {call[1]} ESCAPE {quote(escape)})"
    return f"({call[0]} LIKE replace({call[1]}, {quote(chr(92))}, {quote(chr(92) * 2)}))"


def spark_pattern(pattern: str, escape: str | None) -> str:
    if escape is not None and len(escape) != 1:
        raise MismatchError("ESCAPE takes one character")
    out, at = "", 0
    while at < len(pattern):
        character = pattern[at]
        if character == escape:
            at += 1
            if at == len(pattern) or pattern[at] not in ("%", "_", escape):
                raise MismatchError(f"in a pattern, {escape!r} stands before '%', '_' or itself")
            out += "\\" + pattern[at] if pattern[at] in "%_\\" else pattern[at]
        else:
            out += "\\\\" if character == "\\" else character
        at += 1
    return out


def _check_pattern(given: Given) -> DataType:
    """Reads literal patterns once, so that a faulty one is found before anything runs."""
    pattern, escape = given.values[1], given.values[2] if len(given) > 2 else None  # noqa: PLR2004
    if isinstance(pattern, str):
        spark_pattern(pattern, escape if isinstance(escape, str) else None)
    return BOOLEAN


_CLASSES: Final = {
    "[:ALPHA:]": r"\p{Alpha}", "[:UPPER:]": r"\p{Upper}", "[:LOWER:]": r"\p{Lower}", "[:DIGIT:]": r"\d",
    "[:SPACE:]": " ", "[:WHITESPACE:]": r"\s", "[:ALNUM:]": r"\p{Alnum}",
}  # fmt: skip
_SIMILAR_PIECES: Final = re.compile(r"\[:[A-Za-z]+:\]|.", re.DOTALL)


def similar_regex(pattern: str, escape: str | None) -> str:
    """A pattern of SIMILAR TO as a Java regular expression."""
    out, pieces = "", iter(_SIMILAR_PIECES.findall(pattern))
    for piece in pieces:
        if piece == escape:
            out += re.escape(next(pieces, ""))
        elif piece.upper() in _CLASSES:
            out += _CLASSES[piece.upper()]
        elif piece in "|*+?{}()[]^-":
            out += piece
        else:
            out += {"%": ".*", "_": "."}.get(piece) or re.escape(piece)
    return f"(?s)^(?:{out})$"


def _similar(call: SparkCall) -> str:
    escape = call.given.values[2] if len(call.given) > 2 else None  # noqa: PLR2004
    regex = similar_regex(str(call.given.values[1]), escape if isinstance(escape, str) else None)
    return f"({call[0]} RLIKE {quote(regex)})"


def _is_json(call: SparkCall) -> str:
    kind = str(call.given.values[1])
    parsed = f"schema_of_variant(try_parse_json({call[0]}))"
    return f"if({call[0]} IS NULL, NULL, coalesce({parsed} {_JSON_KINDS[kind]}, FALSE))"


def _logic(
    name: str, spark: str, written: str, *parameters: Parameter, nulls: Nulls = Nulls.FROM_ARGUMENTS
) -> Function:
    return Function(
        name, Category.LOGICAL, (signature(*parameters, gives=BOOLEAN, nulls=nulls),), spark, written=written
    )


_PATTERN: Final = (Parameter("text", TEXT), Parameter("pattern", TEXT), Parameter("escape", TEXT, literal=True))
_LITERAL_PATTERN: Final = (
    Parameter("text", TEXT), Parameter("pattern", TEXT, literal=True), Parameter("escape", TEXT, literal=True),
)  # fmt: skip
_ORDER: Final = (Parameter("left", _ORDERED), Parameter("right", _ORDERED))
_BOOLEAN: Final = Parameter("condition", CONDITION)

_ordering: Final = partial(_comparison, as_type=ordering_type)

FUNCTIONS: Final = (
    _comparison(
        "=", "({0} = {1})", "left = right", _LEFT, _RIGHT, of_maps=lambda pair, type_: equal(pair[0], pair[1], type_)
    ),
    _comparison(
        "<>", "({0} <> {1})", "left <> right", _LEFT, _RIGHT,
        of_maps=lambda pair, type_: f"(NOT {equal(pair[0], pair[1], type_)})",
    ),
    _ordering("<", "({0} < {1})", "left < right", *_ORDER),
    _ordering("<=", "({0} <= {1})", "left <= right", *_ORDER),
    _ordering(">", "({0} > {1})", "left > right", *_ORDER),
    _ordering(">=", "({0} >= {1})", "left >= right", *_ORDER),
    _comparison(
        "IS DISTINCT FROM", "(NOT ({0} <=> {1}))", "left IS DISTINCT FROM right", _LEFT, _RIGHT, never_null=True,
        of_maps=lambda pair, type_: f"(NOT {equal_or_both_null(pair[0], pair[1], type_)})",
    ),
    _comparison(
        "IS NOT DISTINCT FROM", "({0} <=> {1})", "left IS NOT DISTINCT FROM right", _LEFT, _RIGHT, never_null=True,
        of_maps=lambda pair, type_: equal_or_both_null(pair[0], pair[1], type_),
    ),
    _ordering(
        "BETWEEN", "({0} BETWEEN {1} AND {2})", "value [NOT] BETWEEN low AND high", *_ORDER, Parameter("high", _ORDERED)
    ),
    _ordering(
        "BETWEEN SYMMETRIC",
        "({0} BETWEEN {1} AND {2} OR {0} BETWEEN {2} AND {1})",
        "value [NOT] BETWEEN SYMMETRIC one AND other",
        *_ORDER,
        Parameter("high", _ORDERED),
    ),
    _comparison(
        "IN", "({0} IN ({rest}))", "value [NOT] IN (value, …)", _LEFT, _RIGHT, repeats=True, as_type=membership_type,
        of_maps=lambda texts, type_: f"({' OR '.join(equal(texts[0], text, type_) for text in texts[1:])})",
    ),
    Function(
        "IS NULL", Category.COMPARISON, (signature(Parameter("value"), gives=BOOLEAN, nulls=Nulls.NEVER),),
        "({0} IS NULL)", written="value IS [NOT] NULL",
    ),
    Function(
        "LIKE", Category.COMPARISON, (signature(*_PATTERN, gives=(_check_pattern, "BOOLEAN"), optional=1),), _like,
        written="text [NOT] LIKE pattern [ESCAPE character]",
    ),
    Function(
        "SIMILAR TO", Category.COMPARISON, (signature(*_LITERAL_PATTERN, gives=BOOLEAN, optional=1),), _similar,
        written="text [NOT] SIMILAR TO pattern [ESCAPE character]", note="The pattern must be a literal.",
    ),
    Function(
        "IS JSON", Category.COMPARISON,
        (signature(Parameter("text", TEXT), Parameter("kind", TEXT, literal=True), gives=BOOLEAN),),
        _is_json, written="text IS [NOT] JSON [VALUE | SCALAR | ARRAY | OBJECT]",
    ),
    _logic("AND", "({0} AND {1})", "condition AND condition", *_CONDITIONS),
    _logic("OR", "({0} OR {1})", "condition OR condition", *_CONDITIONS),
    _logic("NOT", "(NOT {0})", "NOT condition", _BOOLEAN),
    _logic("IS TRUE", "({0} IS TRUE)", "condition IS [NOT] TRUE", _BOOLEAN, nulls=Nulls.NEVER),
    _logic("IS FALSE", "({0} IS FALSE)", "condition IS [NOT] FALSE", _BOOLEAN, nulls=Nulls.NEVER),
    _logic("IS UNKNOWN", "({0} IS NULL)", "condition IS [NOT] UNKNOWN", _BOOLEAN, nulls=Nulls.NEVER),
)  # fmt: skip
