"""Typed expressions as SQL text again: for EXPLAIN, and for what a checkpoint remembers."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.plan.resolver.expressions import OPERATORS
from millstream.plan.resolver.scope import column_reference
from millstream.plan.typed import Call, Constant, Conversion, FieldOf, InputColumn, Typed, UserCall, Word
from millstream.sql.expression_parser import make_type
from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BINARY: Final = {symbol: kind for kind, symbol in OPERATORS.items()}
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _ATOM = range(8)
_PRECEDENCE: Final[tuple[tuple[tuple[type[exp.Expr], ...], int], ...]] = (
    ((exp.Or,), _OR),
    ((exp.And,), _AND),
    ((exp.Not,), _NOT),
    ((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ), _COMPARISON),
    ((exp.Is, exp.In, exp.Between, exp.Like, exp.SimilarTo, exp.Escape), _COMPARISON),
    ((exp.Add, exp.Sub, exp.DPipe), _SUM),
    ((exp.Mul, exp.Div, exp.Mod), _PRODUCT),
    ((exp.Neg, exp.Interval), _SIGN),
)
_MICROSECONDS: Final = (
    ("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000), ("SECOND", 1_000_000),
)  # fmt: skip
_MONTHS_PER_YEAR: Final = 12
_BEFORE_TO: Final = ("CEIL", "FLOOR")


def sql_text(expression: Typed, dialect: str | None = "flink", *, identify: bool = False) -> str:
    """Reads back as the same typed expression, in Flink's dialect."""
    return tree_of(expression).sql(dialect=dialect, identify=identify)


def tree_of(expression: Typed) -> exp.Expr:
    match expression:
        case InputColumn():
            return column_reference(expression.name)
        case Constant():
            return _literal(expression)
        case FieldOf():
            field = exp.to_identifier(expression.name, quoted=True)
            return exp.Dot(this=_operand(expression.row, _ATOM), expression=field)
        case Conversion():
            kind = exp.TryCast if expression.attempt else exp.Cast
            return kind(this=tree_of(expression.value), to=_type(expression.type))
        case UserCall():
            return exp.Anonymous(this=expression.function.name, expressions=list(map(tree_of, expression.arguments)))
        case Call():
            return _call(expression)


def _call(call: Call) -> exp.Expr:
    name = call.function.name
    arguments = call.arguments
    if name in _BINARY:
        return _binary(_BINARY[name], arguments)
    if (form := _FORMS.get(name)) is not None:
        return form(arguments)
    if name.startswith("IS "):
        return _is(name.removeprefix("IS "), arguments)
    given: list[exp.Expr] = [_argument(argument) for argument in arguments]
    if name in _BEFORE_TO and len(arguments) > 1:
        given[0] = _operand(arguments[0], _ATOM)  # else TO would belong to an interval
    return exp.Anonymous(this=name, expressions=[*given, *(_clause(*clause) for clause in call.clauses)])


def _binary(kind: type[exp.Expr], arguments: Sequence[Typed | Word]) -> exp.Expr:
    left, right = arguments
    own = _precedence(kind())
    first = own + 1 if own == _COMPARISON else own
    second = own if kind in (exp.And, exp.Or) else own + 1
    return kind(this=_operand(left, first), expression=_operand(right, second))


def _operand(argument: Typed | Word, least: int) -> exp.Expr:
    """In parentheses where it binds less strongly than what stands around it."""
    tree = _argument(argument)
    return exp.Paren(this=tree) if _precedence(tree) < least else tree


def _argument(argument: Typed | Word) -> exp.Expr:
    return exp.Var(this=argument.text) if isinstance(argument, Word) else tree_of(argument)


def _precedence(tree: exp.Expr) -> int:
    if isinstance(tree, exp.Literal) and tree.this.startswith("-"):
        return _SIGN
    return next((level for kinds, level in _PRECEDENCE if type(tree) in kinds), _ATOM)


def _negated(argument: Typed | Word) -> exp.Expr:
    """A sign before a literal would be read as a part of it."""
    tree = _operand(argument, _SIGN + 1)
    return exp.Paren(this=tree) if isinstance(tree, exp.Literal) else tree


def _case(arguments: Sequence[Typed | Word]) -> exp.Expr:
    trees = list(map(_argument, arguments))
    default = trees.pop() if len(trees) % 2 else None
    pairs = zip(trees[::2], trees[1::2], strict=True)
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in pairs], default=default)


def _between(arguments: Sequence[Typed | Word], *, symmetric: bool = False) -> exp.Expr:
    value, low, high = (_operand(argument, _SUM) for argument in arguments)
    return exp.Between(this=value, low=low, high=high, symmetric=symmetric or None)


def _pattern(kind: type[exp.Expr], arguments: Sequence[Typed | Word]) -> exp.Expr:
    value, pattern, *escape = (_operand(argument, _SUM) for argument in arguments)
    matched = kind(this=value, expression=pattern)
    return exp.Escape(this=matched, expression=escape[0]) if escape else matched


def _is(word: str, arguments: Sequence[Typed | Word]) -> exp.Expr:
    value = _operand(arguments[0], _COMPARISON + 1)
    kinds: dict[str, exp.Expr] = {
        "TRUE": exp.true(), "FALSE": exp.false(), "UNKNOWN": exp.Var(this="UNKNOWN"), "NULL": exp.Null(),
    }  # fmt: skip
    if word == "JSON":
        assert isinstance(arguments[1], Constant)
        return exp.Is(this=value, expression=exp.JSON(this=arguments[1].value or None))
    return exp.Is(this=value, expression=kinds[word])


def _clause(name: str, value: Typed | Word | DataType) -> exp.Expr:
    match value:
        case Word():
            content: exp.Expr = exp.Var(this=value.text)
        case DataType():
            content = _type(value)
        case _:
            content = _operand(value, _ATOM)
    return exp.Kwarg(this=exp.Var(this=name), expression=content)


def _type(type_: DataType) -> exp.DataType:
    return make_type(str(type_).removesuffix(" NOT NULL"))


def _literal(constant: Constant) -> exp.Expr:
    value, root = constant.value, constant.type.root
    if value is None:
        return exp.Null() if root is TypeRoot.NULL else exp.Cast(this=exp.Null(), to=_type(constant.type))
    match root:
        case TypeRoot.BOOLEAN:
            return exp.Boolean(this=value)
        case TypeRoot.CHAR:
            return exp.Literal.string(str(value))
        case TypeRoot.BINARY:
            assert isinstance(value, bytes)
            return exp.HexString(this=value.hex())
        case TypeRoot.TIME:
            assert isinstance(value, int)
            return exp.Cast(this=exp.Literal.string(_clock(value)), to=_type(constant.type))
        case TypeRoot.INTERVAL_YEAR_MONTH | TypeRoot.INTERVAL_DAY_TIME:
            assert isinstance(value, int)
            return _interval(value, root)
        case _:
            text = f"{value:f}" if isinstance(value, Decimal) else repr(value)
            is_double = root is TypeRoot.DOUBLE and "e" not in text.lower()
            return exp.Literal(this=f"{text}e0" if is_double else text, is_string=False)


def _clock(milliseconds: int) -> str:
    seconds, fraction = divmod(milliseconds, 1000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:03}" if fraction else text


def _interval(value: int, root: TypeRoot) -> exp.Expr:
    """In the largest unit of which it is a whole number; seconds may have fractions."""
    sign, size = "-" if value < 0 else "", abs(value)
    if root is TypeRoot.INTERVAL_YEAR_MONTH:
        unit, amount = ("YEAR", _MONTHS_PER_YEAR) if size and size % _MONTHS_PER_YEAR == 0 else ("MONTH", 1)
    else:
        unit, amount = next((pair for pair in _MICROSECONDS if size and size % pair[1] == 0), _MICROSECONDS[-1])
    text = f"{Decimal(size) / amount:f}"
    return exp.Interval(this=exp.Literal.string(sign + text), unit=exp.Var(this=unit))


_FORMS: Final[dict[str, Callable[[Sequence[Typed | Word]], exp.Expr]]] = {
    "unary -": lambda given: exp.Neg(this=_negated(given[0])),
    "NOT": lambda given: exp.Not(this=_operand(given[0], _NOT)),
    "CASE": _case,
    "BETWEEN": _between,
    "BETWEEN SYMMETRIC": lambda given: _between(given, symmetric=True),
    "IN": lambda given: exp.In(this=_operand(given[0], _COMPARISON + 1), expressions=list(map(_argument, given[1:]))),
    "LIKE": lambda given: _pattern(exp.Like, given),
    "SIMILAR TO": lambda given: _pattern(exp.SimilarTo, given),
    "[]": lambda given: exp.Bracket(this=_operand(given[0], _ATOM), expressions=[_argument(given[1])]),
}
