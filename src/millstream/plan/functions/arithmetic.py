"""Arithmetic and mathematics; sums with dates and intervals too, since they share the operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.functions.java_random import first_double
from millstream.plan.functions.results import arithmetic, decimal_digits, rounded_type, same_as, whole
from millstream.plan.functions.spark_text import logarithm, quotient, time_of_day
from millstream.sql.functions import (
    DATE,
    INTEGER,
    INTERVAL,
    NUMBER,
    TEXT,
    TIME,
    TIMESTAMP,
    Category,
    Function,
    Given,
    MismatchError,
    Nulls,
    Parameter,
    Signature,
    SparkCall,
    signature,
)
from millstream.sql.types import (
    APPROXIMATE,
    BIGINT,
    BYTES,
    DOUBLE,
    INT,
    INTEGERS,
    STRING,
    DataType,
    TypeRoot,
    decimal,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_OVERFLOW: Final = "An integer that becomes too large fails the job; Flink continues with a wrong number."
_NUMBERS: Final = (Parameter("left", NUMBER), Parameter("right", NUMBER))
_WIDE: Final = "the wider of the two"


def _exact(type_: DataType) -> DataType:
    return decimal(*decimal_digits(type_)) if type_.root in INTEGERS else type_


def _operands(call: SparkCall) -> tuple[str, str]:
    """Both sides as the operator needs them: decimals keep their digits, other numbers become the result's type."""
    if call.result.root is TypeRoot.DECIMAL:
        left, right = call.given.types
        return call.as_type(0, _exact(left)), call.as_type(1, _exact(right))
    return call.as_type(0, call.result), call.as_type(1, call.result)


def _sum(form: str, of_decimals: str) -> Callable[[SparkCall], str]:
    """Decimals that become too large are NULL, as in Flink."""

    def spark(call: SparkCall) -> str:
        chosen = of_decimals if call.result.root is TypeRoot.DECIMAL else form
        return f"CAST({chosen.format(*_operands(call))} AS {call.type})"

    return spark


def _quotient(call: SparkCall) -> str:
    left, right = _operands(call)
    if call.result.root in INTEGERS:
        return f"CAST(({left} div {right}) AS {call.type})"
    if call.result.root in APPROXIMATE:
        return f"CAST({quotient(left, right)} AS {call.type})"
    exact = f"if({right} = 0, {left} / {right}, try_divide({left}, {right}))"  # zero fails, too many digits are NULL
    return f"CAST({exact} AS {call.type})"


def _remainder(call: SparkCall) -> str:
    if call.result.root not in INTEGERS:
        return _sum("({0} % {1})", "({0} % {1})")(call)
    return f"CAST(({call.as_type(0, BIGINT)} % {call.as_type(1, BIGINT)}) AS {call.type})"


def _shifted_type(given: Given) -> DataType:
    """A date moved by hours is a timestamp."""
    point, interval = given.types if given.types[1].root.startswith("INTERVAL") else given.types[::-1]
    if point.root is TypeRoot.DATE and interval.root is TypeRoot.INTERVAL_DAY_TIME and not _is_whole_days(given):
        return DataType(TypeRoot.TIMESTAMP, precision=6)
    return point


def _is_whole_days(given: Given) -> bool:
    microseconds = next((value for value in given.values if isinstance(value, int)), None)
    return microseconds is not None and microseconds % 86_400_000_000 == 0


def _move(sign: str) -> Callable[[SparkCall], str]:
    def spark(call: SparkCall) -> str:
        at = 0 if not call.given.types[0].root.startswith("INTERVAL") else 1
        point, interval = call[at], call[1 - at]
        if call.given.types[at].root is TypeRoot.TIME:
            return time_of_day(f"timestamp_millis({point}) {sign} {interval}")
        if call.given.types[at].root is TypeRoot.DATE and call.given.types[1 - at].root is TypeRoot.INTERVAL_DAY_TIME:
            moved = f"CAST({point} AS TIMESTAMP_NTZ) {sign} {interval}"
            return f"CAST(({moved}) AS {call.type})"
        return f"CAST(({point} {sign} {interval}) AS {call.type})"

    return spark


def _add(call: SparkCall) -> str:
    roots = [type_.root for type_ in call.given.types]
    if all(root.startswith("INTERVAL") for root in roots):
        return f"({call[0]} + {call[1]})"
    if any(root.startswith("INTERVAL") for root in roots):
        return _move("+")(call)
    return _sum("({0} + {1})", "try_add({0}, {1})")(call)


def _subtract(call: SparkCall) -> str:
    roots = [type_.root for type_ in call.given.types]
    if all(root.startswith("INTERVAL") for root in roots):
        return f"({call[0]} - {call[1]})"
    if roots[1].startswith("INTERVAL"):
        return _move("-")(call)
    return _sum("({0} - {1})", "try_subtract({0}, {1})")(call)


def _multiply(call: SparkCall) -> str:
    if any(type_.root.startswith("INTERVAL") for type_ in call.given.types):
        return f"CAST(({call[0]} * {call[1]}) AS {call.type})"
    return _sum("({0} * {1})", "try_multiply({0}, {1})")(call)


def _same_interval(given: Given) -> DataType:
    left, right = given.types
    if left.root is not right.root:
        raise MismatchError(f"{left} and {right} cannot be added")
    return left


def _interval_of(given: Given) -> DataType:
    return next(type_ for type_ in given.types if type_.root.startswith("INTERVAL"))


def _binary(rule: str) -> Signature:
    return signature(*_NUMBERS, gives=(arithmetic(rule), _WIDE))


_LEFT_INTERVAL, _RIGHT_INTERVAL = Parameter("left", INTERVAL), Parameter("right", INTERVAL)
_POINT_PLUS: Final = tuple(
    signature(*pair, gives=(_shifted_type, "the point's type"))
    for point in (DATE, TIMESTAMP, TIME)
    for pair in (
        (Parameter("point", point), _RIGHT_INTERVAL),
        (_LEFT_INTERVAL, Parameter("point", point)),
    )
)
_INTERVALS: Final = signature(_LEFT_INTERVAL, _RIGHT_INTERVAL, gives=(_same_interval, "INTERVAL"))
_TIMES: Final = (
    signature(_LEFT_INTERVAL, Parameter("right", NUMBER), gives=(_interval_of, "INTERVAL")),
    signature(Parameter("left", NUMBER), _RIGHT_INTERVAL, gives=(_interval_of, "INTERVAL")),
)
_NUMBER: Final = Parameter("number", NUMBER)
_DIGITS: Final = Parameter("digits", INTEGER, INT, literal=True)
_LITERAL_DIGITS: Final = "The number of digits must be a literal."
_AS_DOUBLE: Final = Parameter("number", NUMBER, DOUBLE)


def _of_double(name: str, form: str, *, note: str = "") -> Function:
    return Function(name, Category.ARITHMETIC, (signature(_AS_DOUBLE, gives=DOUBLE),), form, note=note)


def _truncate(call: SparkCall) -> str:
    digits = call[1] if len(call.given) > 1 else "0"
    is_decimal = call.given.types[0].root is TypeRoot.DECIMAL
    number = call[0] if is_decimal else f"CAST({call[0]} AS DECIMAL(38, 18))"
    return f"CAST(if({call[0]} < 0, ceil({number}, {digits}), floor({number}, {digits})) AS {call.type})"


def _round(call: SparkCall) -> str:
    digits = call[1] if len(call.given) > 1 else "0"
    return f"CAST(round({call[0]}, {digits}) AS {call.type})"


def _whole(name: str) -> Callable[[SparkCall], str]:
    """A double stays a double: Spark makes it a BIGINT, which large ones, whole anyway, do not fit into."""

    def spark(call: SparkCall) -> str:
        if call.result.root in APPROXIMATE:
            return f"CAST(if(abs({call[0]}) < 9007199254740992D, {name}({call[0]}), {call[0]}) AS {call.type})"
        return f"CAST({name}({call[0]}) AS {call.type})"

    return spark


def _signum(call: SparkCall) -> str:
    return f"CAST(sign({call[0]}) AS {call.type})"


def _random(call: SparkCall, seeds: int) -> str:
    """A literal seeds one sequence for all rows; any other seed is that of its row."""
    if not seeds:
        return "rand()"
    return f"rand({call[0]})" if isinstance(call.given.values[0], int) else first_double(call[0])


def _plain(name: str, form: str, *signatures: Signature, note: str = "") -> Function:
    return Function(name, Category.ARITHMETIC, signatures, form, note=note)


_UNARY: Final = (
    signature(_NUMBER, gives=(same_as(0), "the number's type")),
    signature(Parameter("interval", INTERVAL), gives=(same_as(0), "the interval's type")),
)
_KEEPS: Final = signature(_NUMBER, gives=(same_as(0), "the number's type"))
_ROUNDS: Final = signature(_NUMBER, _DIGITS, gives=(rounded_type, "the number's type"), optional=1)
_SEEDED: Final = "The same seed gives other numbers than in Flink."

FUNCTIONS: Final = (
    Function(
        "+", Category.ARITHMETIC, (_binary("+"), *_POINT_PLUS, _INTERVALS), _add,
        written="left + right", note=_OVERFLOW,
    ),
    Function(
        "-", Category.ARITHMETIC, (_binary("+"), *_POINT_PLUS[::2], _INTERVALS), _subtract,
        written="left - right", note=_OVERFLOW,
    ),
    Function("*", Category.ARITHMETIC, (_binary("*"), *_TIMES), _multiply, written="left * right", note=_OVERFLOW),
    Function("/", Category.ARITHMETIC, (_binary("/"),), _quotient, written="left / right"),
    Function("%", Category.ARITHMETIC, (_binary("%"),), _remainder, written="left % right"),
    Function("unary -", Category.ARITHMETIC, _UNARY, "(- {0})", written="- value", note=_OVERFLOW),
    Function("MOD", Category.ARITHMETIC, (_binary("%"),), _remainder),
    Function("ABS", Category.ARITHMETIC, _UNARY, "abs({0})"),
    Function("ROUND", Category.ARITHMETIC, (_ROUNDS,), _round, note=_LITERAL_DIGITS),
    Function("TRUNCATE", Category.ARITHMETIC, (_ROUNDS,), _truncate, note=_LITERAL_DIGITS),
    Function("SIGN", Category.ARITHMETIC, (_KEEPS,), _signum),
    _plain("POWER", "pow({0}, {1})", signature(_AS_DOUBLE, Parameter("exponent", NUMBER, DOUBLE), gives=DOUBLE)),
    _of_double("SQRT", "sqrt({0})"),
    _of_double("LN", logarithm("{0}")),
    _of_double("LOG2", f"({logarithm('{0}')} / ln(2D))"),
    _of_double("LOG10", logarithm("{0}", "log10")),
    Function(
        "LOG", Category.ARITHMETIC,
        (
            signature(_AS_DOUBLE, gives=DOUBLE),
            signature(Parameter("base", NUMBER, DOUBLE), _AS_DOUBLE, gives=DOUBLE),
        ),
        lambda call: quotient(*map(logarithm, call.texts[::-1])) if len(call.texts) > 1 else logarithm(call[0]),
    ),
    _of_double("EXP", "exp({0})"),
    _of_double("SIN", "sin({0})"),
    _of_double("SINH", "sinh({0})"),
    _of_double("COS", "cos({0})"),
    _of_double("COSH", "cosh({0})"),
    _of_double("TAN", "tan({0})"),
    _of_double("TANH", "tanh({0})"),
    _of_double("COT", "cot({0})"),
    _of_double("ASIN", "asin({0})"),
    _of_double("ACOS", "acos({0})"),
    _of_double("ATAN", "atan({0})"),
    _plain("ATAN2", "atan2({0}, {1})", signature(_AS_DOUBLE, Parameter("x", NUMBER, DOUBLE), gives=DOUBLE)),
    _of_double("DEGREES", "degrees({0})"),
    _of_double("RADIANS", "radians({0})"),
    _plain("PI", "pi()", signature(gives=DOUBLE, nulls=Nulls.NEVER)),
    _plain("E", "e()", signature(gives=DOUBLE, nulls=Nulls.NEVER)),
    Function(
        "RAND", Category.ARITHMETIC,
        (signature(Parameter("seed", INTEGER, INT), gives=DOUBLE, optional=1),),
        lambda call: _random(call, len(call.texts)),
        note="A literal as seed gives other numbers than in Flink; any other seed starts over in each row.",
    ),
    Function(
        "RAND_INTEGER", Category.ARITHMETIC,
        (
            signature(Parameter("bound", INTEGER, INT), gives=INT),
            signature(Parameter("seed", INTEGER, INT), Parameter("bound", INTEGER, INT), gives=INT),
        ),
        lambda call: f"CAST(floor({_random(call, len(call.texts) - 1)} * {call[len(call.texts) - 1]}) AS INT)",
        note=_SEEDED,
    ),
    _plain("UUID", "uuid()", signature(gives=DataType(TypeRoot.CHAR, precision=36), nulls=Nulls.NEVER)),
    _plain("BIN", "bin({0})", signature(Parameter("number", INTEGER, BIGINT), gives=STRING)),
    _plain(
        "HEX", "hex({0})",
        signature(Parameter("number", INTEGER, BIGINT), gives=STRING), signature(Parameter("text", TEXT), gives=STRING),
    ),
    _plain("UNHEX", "unhex({0})", signature(Parameter("text", TEXT), gives=BYTES, nulls=Nulls.ALWAYS)),
)  # fmt: skip
"""FLOOR and CEIL, which round times too, stand with those."""

WHOLE_NUMBER: Final = signature(_NUMBER, gives=(whole, "the number's type"))
whole_number: Final = _whole
