"""What Flink's aggregates give, one row at a time and in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from millstream.aggregates.registry import aggregate_function

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from millstream.kernels.aggregate import Call

Record = dict[str, Any]


class GroupOracle:
    """One group: its rows, and per call the values that count, in order of arrival."""

    def __init__(self, calls: tuple[Call, ...]) -> None:
        self.rows = 0
        self._values: dict[Call, list[Any]] = {call: [] for call in calls}
        self._seen: dict[Call, Counter[Any]] = {call: Counter() for call in calls}

    def insert(self, row: Record) -> None:
        self.rows += 1
        for call, values in self._values.items():
            if counts(call, row):
                value = row[call.argument] if call.argument else 1
                self._seen[call][value] += 1
                if not call.distinct or self._seen[call][value] == 1:
                    values.append(value)

    def retract(self, row: Record) -> None:
        self.rows -= 1
        for call, values in self._values.items():
            if counts(call, row):
                value = row[call.argument] if call.argument else 1
                self._seen[call][value] -= 1
                if not call.distinct or self._seen[call][value] == 0:
                    values.remove(value)

    def results(self, types: dict[str, pa.DataType]) -> tuple[Any, ...]:
        return tuple(cast(result(call, values), call, types) for call, values in self._values.items())


def cast(value: Any, call: Call, types: dict[str, pa.DataType]) -> Any:
    """Sums of whole numbers wrap around; variances go to the nearest number, then a narrow type takes the low bits."""
    if not isinstance(value, int) or call.argument is None or call.function == "COUNT" or isinstance(value, bool):
        return value
    bits = 64 if call.function == "SUM" else types[call.argument].bit_width
    if call.function not in ("SUM", "AVG"):
        limit = 1 << (63 if bits == 64 else 31)
        value = max(-limit, min(value, limit - 1))
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def counts(call: Call, row: Record) -> bool:
    if call.filter is not None and not row[call.filter]:
        return False
    return call.argument is None or aggregate_function(call.function).keeps_nulls or row[call.argument] is not None


def result(call: Call, values: list[Any]) -> Any:
    function = call.function
    if function in ("COUNT", "COUNT(*)"):
        return len(values)
    if function == "COLLECT":
        return tuple(sorted(Counter(values).items()))
    if not values:
        return None
    simple: dict[str, Callable[[list[Any]], Any]] = {
        "SUM": sum,
        "MIN": min,
        "MAX": max,
        "FIRST_VALUE": lambda found: found[0],
        "LAST_VALUE": lambda found: found[-1],
        "LISTAGG": lambda found: "".join(call.parameters).join(found),
        "ARRAY_AGG": tuple,
        "AVG": average,
        "PERCENTILE": lambda found: percentile(sorted(map(float, found)), Fraction(*call.parameters)),
    }
    return simple[function](values) if function in simple else variance(function, values)


def percentile(values: list[float], percentage: Fraction) -> float:
    place = percentage * (len(values) - 1)
    below, above = Fraction(values[math.floor(place)]), Fraction(values[math.ceil(place)])
    return float(below + (above - below) * (place % 1))


def average(values: list[Any]) -> Any:
    if isinstance(values[0], float):
        return sum(values) / len(values)
    if isinstance(values[0], int):
        total = (sum(values) + 2**63) % 2**64 - 2**63
        return math.trunc(Fraction(total, len(values)))
    mean = sum(map(Fraction, values), Fraction()) / len(values)
    return round_half_up(mean)


def variance(function: str, values: list[Any]) -> Any:
    divisor = len(values) - (function in ("VAR_SAMP", "STDDEV_SAMP"))
    if divisor == 0:
        return None
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers, Fraction()) / len(numbers)
    spread = sum(((number - mean) * (number - mean) for number in numbers), Fraction()) / divisor
    root = function in ("STDDEV_POP", "STDDEV_SAMP")
    if isinstance(values[0], float):
        return math.sqrt(spread) if root else float(spread)
    if isinstance(values[0], Decimal):
        return square_root(spread) if root else round_half_up(spread)
    return math.isqrt(math.floor(spread)) if root else math.floor(spread)


def round_half_up(number: Fraction) -> Decimal | None:
    with localcontext(prec=80):
        exact = Decimal(number.numerator) / Decimal(number.denominator)
        return null_if_too_large(exact.quantize(Decimal("1.000000"), ROUND_HALF_UP))


def square_root(number: Fraction) -> Decimal | None:
    with localcontext(prec=80):
        root = (Decimal(number.numerator) / Decimal(number.denominator)).sqrt()
        return null_if_too_large(root.quantize(Decimal("1.000000"), ROUND_HALF_UP))


def null_if_too_large(number: Decimal) -> Decimal | None:
    return number if abs(number) < Decimal("1e32") else None
