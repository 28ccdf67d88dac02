"""GROUP BY on Spark's own streaming aggregation, for calls on which Spark and the kernel have the same results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from millstream.aggregates.registry import aggregate_function
from millstream.changelog import KIND, RowKind
from millstream.spark.comparable import alike
from millstream.spark.types import quote_name, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from millstream.aggregates.record import NativeForm
    from millstream.plan.operators.aggregate import Aggregate, AggregateCall
    from millstream.sql.types import DataType


def native_aggregate(rows: DataFrame, node: Aggregate) -> DataFrame:
    """Spark does not distinguish a group's first row from later ones: each is an update, which may insert."""
    keys = {name: f"key{number}" for number, name in enumerate(node.keys)}
    # Calls with the same argument share its column, so that what they have in common is stored once in Spark's state.
    arguments = dict.fromkeys(call.argument for call in node.calls if call.argument is not None)
    values = {name: f"argument{number}" for number, name in enumerate(arguments)}
    prepared = rows.select(
        *(_comparable(rows, name).alias(column) for name, column in keys.items()),
        *(_comparable(rows, name).alias(column) for name, column in values.items()),
    )
    types = node.inputs[0].column_types()
    calls = [
        _NativeCall(call, f"result{number}", values.get(call.argument or ""), types.get(call.argument or ""))
        for number, call in enumerate(node.calls)
    ]
    found = prepared.groupBy(*keys.values()).agg(*(part for call in calls for part in call.parts()))
    return found.select(
        *(F.col(column).alias(name) for name, column in keys.items()),
        *(call.result() for call in calls),
        F.lit(int(RowKind.UPDATE_AFTER)).cast("tinyint").alias(KIND),
    )


class _NativeCall:
    """A call as Spark SQL over columns with numbers for names: a user's name may contain dots."""

    def __init__(self, call: AggregateCall, result: str, value: str | None, type_: DataType | None) -> None:
        self._name = call.name
        self._value = value
        self._type = type_
        self._form = _form(call)
        self._columns = [f"{result}_{part}" for part in range(len(self._form.parts(type_)))]

    def parts(self) -> list[Column]:
        """What Spark aggregates."""
        texts = (text.format(value=self._value) for text in self._form.parts(self._type))
        return [F.expr(text).alias(column) for text, column in zip(texts, self._columns, strict=True)]

    def result(self) -> Column:
        type_ = "" if self._type is None else spark_type(self._type)
        return F.expr(self._form.result(self._type).format(*self._columns, type=type_)).alias(self._name)


def _form(call: AggregateCall) -> NativeForm:
    form = aggregate_function(call.function).native
    assert form is not None, f"{call.function} runs on the kernel"
    return form


def _comparable(rows: DataFrame, name: str) -> Column:
    return alike(F.col(quote_name(name)), rows.schema[name].dataType)
