"""Rules for the type of a call, as Flink derives it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.sql.functions import Given, MismatchError, ResultRule
from millstream.sql.types import (
    APPROXIMATE,
    BINARIES,
    CHARACTER,
    DOUBLE,
    INTEGERS,
    MAX_DECIMAL_PRECISION,
    NUMERIC,
    TIMESTAMPS,
    DataType,
    Field,
    TypeRoot,
    decimal,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

INTEGER_DIGITS: Final = {TypeRoot.TINYINT: 3, TypeRoot.SMALLINT: 5, TypeRoot.INT: 10, TypeRoot.BIGINT: 19}
NULL: Final = DataType(TypeRoot.NULL)
_LEAST_SCALE: Final = 6
_DEFAULT_FRACTION_DIGITS: Final = 6


def same_as(index: int) -> ResultRule:
    return lambda given: given.types[index]


def common(first: int = 0, step: int = 1) -> ResultRule:
    """The least type that all arguments from `first` on fit into."""
    return lambda given: common_type(given.types[first::step])


def array_of(rule: ResultRule) -> ResultRule:
    return lambda given: DataType(TypeRoot.ARRAY, element=rule(given))


def element(given: Given) -> DataType:
    found = given.types[0].element
    return NULL if found is None else found.or_null()


def fraction_digits(type_: DataType) -> int:
    return _DEFAULT_FRACTION_DIGITS if type_.precision is None else type_.precision


class NoCommonTypeError(MismatchError):
    def __init__(self, left: DataType, right: DataType) -> None:
        super().__init__(f"{bare(left)} and {bare(right)} have no type in common", "CAST one of the two.")
        self.left = left
        self.right = right


def common_type(types: Sequence[DataType]) -> DataType:
    """The least type that all of these fit into; raises where there is none."""
    known = [type_ for type_ in types if type_.root is not TypeRoot.NULL]
    if not known:
        return NULL
    found = known[0]
    for type_ in known[1:]:
        found = _of_two(found, type_)
    return replace(found, nullable=any(type_.nullable for type_ in types))


def _of_two(left: DataType, right: DataType) -> DataType:
    roots = {left.root, right.root}
    found: DataType | None = None
    if roots <= NUMERIC:
        found = widest_number(left, right)
    elif roots <= CHARACTER:
        found = _sized_type(left, right, TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.STRING)
    elif roots <= BINARIES:
        found = _sized_type(left, right, TypeRoot.BINARY, TypeRoot.VARBINARY, TypeRoot.BYTES)
    elif roots <= TIMESTAMPS | {TypeRoot.DATE} and roots & TIMESTAMPS:
        root = TypeRoot.TIMESTAMP_LTZ if TypeRoot.TIMESTAMP_LTZ in roots else TypeRoot.TIMESTAMP
        found = DataType(root, precision=max(fraction_digits(t) for t in (left, right) if t.root in TIMESTAMPS))
    elif len(roots) == 1:
        found = _common_nested_type(left, right)
    if found is None:
        raise NoCommonTypeError(left, right)
    return found


def _common_nested_type(left: DataType, right: DataType) -> DataType | None:
    match left.root:
        case TypeRoot.ARRAY | TypeRoot.MULTISET | TypeRoot.MAP:
            assert left.element is not None
            assert right.element is not None
            key = common_type((left.key, right.key)) if left.key is not None and right.key is not None else None
            return replace(left, element=common_type((left.element, right.element)), key=key)
        case TypeRoot.ROW:
            if len(left.fields) != len(right.fields):
                return None
            pairs = zip(left.fields, right.fields, strict=True)
            return replace(left, fields=tuple(Field(a.name, common_type((a.type, b.type))) for a, b in pairs))
        case _:
            return left


def _sized_type(left: DataType, right: DataType, fixed: TypeRoot, varying: TypeRoot, unlimited: TypeRoot) -> DataType:
    if unlimited in (left.root, right.root) or left.precision is None or right.precision is None:
        return DataType(unlimited)
    same = left.root is right.root is fixed and left.precision == right.precision
    return DataType(fixed if same else varying, precision=max(left.precision, right.precision))


def widest_number(left: DataType, right: DataType) -> DataType:
    roots = {left.root, right.root}
    if roots & APPROXIMATE:
        return DOUBLE if TypeRoot.DOUBLE in roots or TypeRoot.DECIMAL in roots else DataType(TypeRoot.FLOAT)
    if TypeRoot.DECIMAL not in roots:
        return DataType(max(roots, key=INTEGER_DIGITS.__getitem__))
    (p1, s1), (p2, s2) = decimal_digits(left), decimal_digits(right)
    scale = max(s1, s2)
    return decimal(min(max(p1 - s1, p2 - s2) + scale, MAX_DECIMAL_PRECISION), scale)


def decimal_digits(type_: DataType) -> tuple[int, int]:
    """Digits and fraction digits, of an integer those of its largest value."""
    if type_.root in INTEGERS:
        return INTEGER_DIGITS[type_.root], 0
    return type_.precision or 0, type_.scale or 0


def fit_decimal(precision: int, scale: int) -> DataType:
    """A decimal of at most 38 digits: fraction digits give way, down to six."""
    if precision <= MAX_DECIMAL_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_DECIMAL_PRECISION, max(MAX_DECIMAL_PRECISION - whole, min(scale, _LEAST_SCALE)))


def arithmetic(of_decimals: str) -> ResultRule:
    def rule(given: Given) -> DataType:
        left, right = given.types
        if TypeRoot.NULL in (left.root, right.root):
            return common_type(given.types)
        if TypeRoot.DECIMAL in (left.root, right.root) and not {left.root, right.root} & APPROXIMATE:
            return _DECIMAL_RULES[of_decimals](*decimal_digits(left), *decimal_digits(right))
        if of_decimals == "%" and {left.root, right.root} <= INTEGERS:
            return right
        return widest_number(left, right)

    return rule


_DECIMAL_RULES: Final = {
    "+": lambda p1, s1, p2, s2: fit_decimal(max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2)),
    "*": lambda p1, s1, p2, s2: fit_decimal(p1 + p2 + 1, s1 + s2),
    "/": lambda p1, s1, p2, s2: fit_decimal(
        p1 - s1 + s2 + max(_LEAST_SCALE, s1 + p2 + 1), max(_LEAST_SCALE, s1 + p2 + 1)
    ),
    "%": lambda p1, s1, p2, s2: fit_decimal(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2)),
}


def rounded_type(given: Given) -> DataType:
    """ROUND and TRUNCATE keep the type; of a decimal, as many fraction digits as asked for, plus a carry."""
    number = given.types[0]
    digits = 0 if len(given) == 1 else given.values[1]
    if number.root is not TypeRoot.DECIMAL or not isinstance(digits, int):
        return number
    precision, scale = decimal_digits(number)
    if digits >= scale:
        return decimal(precision, scale)
    if digits < 0:
        return decimal(min(MAX_DECIMAL_PRECISION, 1 + precision - scale), 0)
    return decimal(1 + precision - scale + digits, digits)


def whole(given: Given) -> DataType:
    """FLOOR and CEIL: a decimal loses its fraction digits, another number keeps its type."""
    number = given.types[0]
    return decimal(number.precision or 0, 0) if number.root is TypeRoot.DECIMAL else number


def varying(given: Given, index: int = 0) -> DataType:
    """Of CHAR(n) and VARCHAR(n): VARCHAR(n)."""
    text = given.types[index]
    return DataType(TypeRoot.VARCHAR, precision=text.precision) if text.root is TypeRoot.CHAR else text


def holds(type_: DataType, *roots: TypeRoot) -> bool:
    """Whether it is one of these, or an array, a row or a map of such."""
    inner = (type_.key, type_.element, *(field.type for field in type_.fields))
    return type_.root in roots or any(holds(part, *roots) for part in inner if part is not None)


def require_order(type_: DataType) -> None:
    if holds(type_, TypeRoot.MAP, TypeRoot.MULTISET):
        raise MismatchError(f"values of type {bare(type_)} have no order")


def bare(type_: DataType) -> str:
    """The type without NOT NULL, as users think of it."""
    return str(type_.or_null())
