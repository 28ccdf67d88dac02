"""VAR and STDDEV: exact for integers and decimals, by mean and squared distance for floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.aggregates.accumulators import add_to_old, count_one, polars_type, present
from millstream.aggregates.calls import OLD
from millstream.aggregates.exact_numbers import (
    decimal_of,
    limb_count,
    limb_expressions,
    limb_pairs,
    squares,
    variance,
    whole_numbers,
)
from millstream.aggregates.functions.sums import average_of, average_type
from millstream.aggregates.libraries import pa, pl
from millstream.aggregates.record import AggregateFunction
from millstream.sql.functions import NUMBER, Nulls, Parameter, signature

if TYPE_CHECKING:
    from millstream.aggregates.accumulators import Accumulator
    from millstream.aggregates.calls import Call, Input


@dataclass(frozen=True, slots=True)
class Spread:
    """Which of the four functions it is."""

    of_sample: bool
    """Divided by one less than the number of values."""
    is_root: bool
    """The standard deviation."""


@dataclass(frozen=True, slots=True)
class ExactVariance:
    """Sums of limbs and of their products: linear, and exact even when rows are retracted."""

    call: Call
    argument: pa.DataType
    spread: Spread

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        sums = [*self._limbs, *self._products]
        return (
            pa.field(self.call.column("count"), pa.int64()),
            *(pa.field(name, pa.decimal128(38, 0)) for name in sums),
        )

    def partial(self, rows: Input) -> list[pl.Expr]:
        limbs = limb_expressions(rows.value, limb_count(self.argument))
        sign = 1 if rows.sign is None else rows.sign.cast(pl.Int128)
        products = [limbs[i] * limbs[j] for i, j in limb_pairs(len(limbs))]
        sums = zip([*self._limbs, *self._products], [*limbs, *products], strict=True)
        return [
            present(rows).alias(self.call.column("count")),
            *((term * sign).sum().cast(pl.Decimal(38, 0)).alias(name) for name, term in sums),
        ]

    def merge(self) -> list[pl.Expr]:
        return [pl.col(field.name).sum() for field in self.fields]

    def apply(self) -> list[pl.Expr]:
        return [add_to_old(field.name) for field in self.fields]

    def of_row(self, value: pl.Expr) -> list[pl.Expr]:
        limbs = limb_expressions(value, limb_count(self.argument))
        products = [limbs[i] * limbs[j] for i, j in limb_pairs(len(limbs))]
        sums = zip([*self._limbs, *self._products], [*limbs, *products], strict=True)
        return [
            count_one(value).alias(self.call.column("count")),
            *(term.cast(pl.Decimal(38, 0)).alias(name) for name, term in sums),
        ]

    def join(self) -> list[pl.Expr]:
        return self.apply()

    def result(self, prefix: str) -> pl.Expr:
        columns = [pl.col(prefix + field.name).alias(field.name) for field in self.fields]
        type_ = polars_type(average_type(self.argument))
        return pl.struct(columns).map_batches(lambda states: self._results(states, type_), return_dtype=type_)

    def _results(self, states: pl.Series, type_: pl.DataType) -> pl.Series:
        scale = self.argument.scale if pa.types.is_decimal(self.argument) else 0
        digits = type_.scale if isinstance(type_, pl.Decimal) else 0
        results: list[int | None] = []
        for count, *sums in zip(*(states.struct[field.name].to_list() for field in self.fields), strict=True):
            if not count:
                results.append(None)
                continue
            whole = [int(part) for part in sums]
            total, square = squares(whole[: len(self._limbs)], whole[len(self._limbs) :])
            results.append(self._result(count, total, square, scale, digits))
        if not isinstance(type_, pl.Decimal):
            return whole_numbers(pl.Series(results, dtype=pl.Int128), type_)
        return pl.Series([decimal_of(result, digits) for result in results], dtype=type_)

    def _result(self, count: int, total: int, square: int, scale: int, digits: int) -> int | None:
        divisor = count - 1 if self.spread.of_sample else count
        return variance(count, divisor, total, square, scale=scale, digits=digits, root=self.spread.is_root)

    @property
    def _limbs(self) -> list[str]:
        return [self.call.column(f"limb{i}") for i in range(limb_count(self.argument))]

    @property
    def _products(self) -> list[str]:
        return [self.call.column(f"product{i}{j}") for i, j in limb_pairs(limb_count(self.argument))]


@dataclass(frozen=True, slots=True)
class FloatVariance:
    """Count, mean and sum of squared distances, which can be merged: stable, as no large squares cancel out."""

    call: Call
    argument: pa.DataType
    spread: Spread

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (
            pa.field(self.call.column("count"), pa.int64()),
            pa.field(self.call.column("mean"), pa.float64()),
            pa.field(self.call.column("distance"), pa.float64()),
        )

    def partial(self, rows: Input) -> list[pl.Expr]:
        value = rows.value.cast(pl.Float64)
        comes = value if rows.sign is None else value.filter(rows.sign > 0)
        goes = value.head(0) if rows.sign is None else value.filter(rows.sign < 0)
        return [*self._moments("came", comes), *self._moments("gone", goes)]

    def merge(self) -> list[pl.Expr]:
        return [column for way in ("came", "gone") for column in self._merge_way(way)]

    def apply(self) -> list[pl.Expr]:
        count, mean, distance = (pl.col(OLD + field.name).fill_null(0) for field in self.fields)
        came, came_mean, came_distance = self._way("came")
        gone, gone_mean, gone_distance = self._way("gone")
        between = count + came
        weight = pl.when(between > 0).then(came / between).otherwise(0.0)
        mean_between = mean + weight * (came_mean - mean)
        distance_between = distance + came_distance + count * weight * (came_mean - mean) ** 2
        left = between - gone
        mean_left = (
            pl.when(gone == 0)
            .then(mean_between)
            .when(left > 0)
            .then(mean_between + gone / left * (mean_between - gone_mean))
            .otherwise(0.0)
        )
        lost = (
            gone_distance
            + pl.when(between > 0).then(gone / between * left).otherwise(0.0) * (gone_mean - mean_left) ** 2
        )
        distance_left = pl.when(left > 1).then(pl.max_horizontal(distance_between - lost, 0.0)).otherwise(0.0)
        names = [field.name for field in self.fields]
        return [column.alias(name) for name, column in zip(names, (left, mean_left, distance_left), strict=True)]

    def of_row(self, value: pl.Expr) -> list[pl.Expr]:
        states = (count_one(value), value.cast(pl.Float64).fill_null(0), pl.lit(0.0))
        return [state.alias(field.name) for state, field in zip(states, self.fields, strict=True)]

    def join(self) -> list[pl.Expr]:
        count, mean, distance = (pl.col(OLD + field.name).fill_null(0) for field in self.fields)
        came, came_mean, came_distance = (pl.col(field.name).fill_null(0) for field in self.fields)
        total = count + came
        weight = pl.when(total > 0).then(came / total).otherwise(0.0)
        states = (
            total,
            mean + weight * (came_mean - mean),
            distance + came_distance + count * weight * (came_mean - mean) ** 2,
        )
        return [state.alias(field.name) for state, field in zip(states, self.fields, strict=True)]

    def result(self, prefix: str) -> pl.Expr:
        count = pl.col(prefix + self.call.column("count"))
        divisor = count - 1 if self.spread.of_sample else count
        square = pl.col(prefix + self.call.column("distance")) / pl.when(divisor > 0).then(divisor)
        return (square.sqrt() if self.spread.is_root else square).cast(polars_type(self.argument))

    def _moments(self, way: str, values: pl.Expr) -> list[pl.Expr]:
        number = values.count().cast(pl.Int64)
        moments = (number, values.mean().fill_null(0), (values.var(ddof=0) * number).fill_null(0))
        return [column.alias(name) for name, column in zip(self._names(way), moments, strict=True)]

    def _merge_way(self, way: str) -> list[pl.Expr]:
        number, mean, distance = (pl.col(name) for name in self._names(way))
        total = number.sum()
        middle = pl.when(total > 0).then((number * mean).sum() / total).otherwise(0.0)
        spread = distance.sum() + (number * (mean - middle) ** 2).sum()
        columns = (total, middle, spread)
        return [column.alias(name) for name, column in zip(self._names(way), columns, strict=True)]

    def _way(self, way: str) -> list[pl.Expr]:
        return [pl.col(name).fill_null(0) for name in self._names(way)]

    def _names(self, way: str) -> list[str]:
        return [self.call.column(f"{way}_{part}") for part in ("count", "mean", "distance")]


def _variance_function(
    name: str, *, of_sample: bool, is_root: bool, note: str = "", synonyms: tuple[str, ...] = ()
) -> AggregateFunction:
    spread = Spread(of_sample, is_root)

    def accumulator(call: Call, argument: pa.DataType) -> Accumulator:
        kind = FloatVariance if pa.types.is_floating(argument) else ExactVariance
        return kind(call, argument, spread)

    return AggregateFunction(
        name=name,
        signatures=(
            signature(Parameter("number", NUMBER), gives=(average_of, "the number's type"), nulls=Nulls.ALWAYS),
        ),
        result_type=average_type,
        accumulator=accumulator,
        note=note,
        synonyms=synonyms,
    )


_NOTE: Final = "The result has the number's type, as with AVG: of integers, it is truncated to an integer."

FUNCTIONS: Final = (
    _variance_function("STDDEV_POP", of_sample=False, is_root=True, note=_NOTE),
    _variance_function("STDDEV_SAMP", of_sample=True, is_root=True, synonyms=("STDDEV",)),
    _variance_function("VAR_POP", of_sample=False, is_root=False),
    _variance_function("VAR_SAMP", of_sample=True, is_root=False, synonyms=("VARIANCE",)),
)
