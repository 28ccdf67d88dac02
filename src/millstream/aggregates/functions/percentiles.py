"""PERCENTILE: the value below which a share of the values lies, interpolated between the two nearest ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.aggregates.libraries import pa, pl
from millstream.aggregates.record import AggregateFunction, KeepsValues
from millstream.sql.functions import NUMBER, MismatchError, Nulls, Parameter, signature
from millstream.sql.types import DOUBLE, DataType

if TYPE_CHECKING:
    from millstream.aggregates.calls import Call, Entries
    from millstream.sql.functions import Given


def _double(given: Given) -> DataType:
    percentage = given.values[1]
    if percentage is None or not 0 <= float(str(percentage)) <= 1:
        raise MismatchError("PERCENTILE takes a percentage from 0 to 1", argument=1)
    return DOUBLE


def _as_double(argument: pa.DataType) -> pa.DataType:
    """Spark rounds a DECIMAL to the nearest DOUBLE, while Polars may be off by one."""
    return pa.float64() if pa.types.is_decimal(argument) else argument


def _percentile(call: Call, entries: Entries) -> pl.Expr:
    [percentage] = call.parameters
    value, number = entries.value.cast(pl.Float64), entries.count.cum_sum()
    place = (entries.count.sum() - 1) * float(percentage) + 1
    lower, upper = place.floor(), place.ceil()
    before, after = (value.filter(number >= bound).first() for bound in (lower, upper))
    return pl.when(before == after).then(before).otherwise((upper - place) * before + (place - lower) * after)


FUNCTIONS: Final = (
    AggregateFunction(
        name="PERCENTILE",
        signatures=(
            signature(
                Parameter("number", NUMBER),
                Parameter("percentage", NUMBER, literal=True),
                gives=(_double, "DOUBLE"),
                nulls=Nulls.ALWAYS,
            ),
        ),
        note="It takes one percentage, not an array of them, and no frequency.",
        result_type=lambda _: pa.float64(),
        reads=_percentile,
        widens=_as_double,
        keeps_values=KeepsValues.ALWAYS,
    ),
)
