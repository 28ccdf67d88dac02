"""Rows that are in Python already: filtered, computed with and prepared for kernels in the same crossing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DoubleType, FloatType, StructField, StructType

from millstream.changelog import KIND
from millstream.plan.typed import InputColumn
from millstream.plan.vectorised.evaluators import ColumnValue, ExpressionError, TooLargeError, to_array, to_mask
from millstream.plan.vectorised.forms import vectorise
from millstream.plan.vectorised.number_arrays import floats_of_decimals
from millstream.plan.vectorised.text_arrays import MOST_BYTES
from millstream.spark.comparable import alike, is_comparable_as_it_is, kernel_schema
from millstream.spark.python_stage import PythonStage, UnitedRows, to_struct
from millstream.spark.splits import SPLIT, split_columns
from millstream.spark.types import quote_name, spark_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from millstream.plan.operators.filter import Filter
    from millstream.plan.operators.project import Project
    from millstream.plan.vectorised.evaluators import Evaluator
    from millstream.spark.python_stage import InputRows


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column as a kernel takes it."""

    source: str
    name: str
    type: DataType
    """In which the kernel takes it; a wider one than the column's, or the same."""
    is_compared: bool = False
    """Whether values that SQL considers equal must be identical."""
    is_condition: bool = False
    """Whether NULL counts as false."""


def filter_in_python(rows: PythonStage, node: Filter) -> PythonStage:
    return rows.pipe(partial(filter_rows, vectorise(node.condition)), rows.schema)


def project_in_python(rows: PythonStage, node: Project) -> PythonStage:
    schema = rows.row_schema
    computed = to_struct(spark_schema((item.name, item.type) for item in node.items))
    fields = [
        StructField(item.name, schema[item.expression.name].dataType)
        if item.is_selection and isinstance(item.expression, InputColumn)
        else field
        for item, field in zip(node.items, computed.fields, strict=True)
    ]
    struct = StructType([*fields, *(schema[name] for name in (KIND, SPLIT) if name in schema.names)])
    arrow_schema = kernel_schema(struct)
    evaluators = tuple(
        ColumnValue(item.expression.name, field.type)
        if item.is_selection and isinstance(item.expression, InputColumn)
        else vectorise(item.expression, item.type)
        for item, field in zip(node.items, arrow_schema, strict=False)
    )
    return rows.pipe(partial(compute_columns, evaluators, arrow_schema), struct)


def prepare_columns(rows: InputRows, uses: Sequence[ColumnUse]) -> InputRows:
    """The columns as a kernel takes them, with the kind and the split of each row if the rows have them.

    Rows that are in Python stay there, unless it takes functions of Spark's to make nested values comparable.
    """
    if isinstance(rows, PythonStage | UnitedRows):
        if uses and all(_is_simple(use, rows.row_schema[use.source].dataType) for use in uses):
            if isinstance(rows, PythonStage):
                return select_in_python(rows, uses)
            return UnitedRows(tuple(select_in_python(side, uses) for side in rows.sides))
        rows = rows.to_frame()
    kind = [F.col(KIND)] if KIND in rows.columns else []
    return rows.select(*(_to_spark(use, rows.schema).alias(use.name) for use in uses), *kind, *split_columns(rows))


def _is_simple(use: ColumnUse, type_: DataType) -> bool:
    return not use.is_compared or is_comparable_as_it_is(type_)


def _to_spark(use: ColumnUse, schema: StructType) -> Column:
    value, type_ = F.col(quote_name(use.source)), schema[use.source].dataType
    if use.is_condition:
        return F.coalesce(value, F.lit(False))
    value = alike(value, type_) if use.is_compared else value
    return value if type_ == use.type else value.cast(use.type)


def schema_of(rows: InputRows) -> StructType:
    return rows.row_schema if isinstance(rows, PythonStage | UnitedRows) else rows.schema


def struct_of(uses: Sequence[ColumnUse], beside: Sequence[StructField] = ()) -> StructType:
    return StructType([*(StructField(use.name, use.type) for use in uses), *beside])


def select_in_python(rows: PythonStage, uses: Sequence[ColumnUse]) -> PythonStage:
    """These columns, with the kind and the split of each row if the rows have them."""
    schema = rows.row_schema
    beside = [schema[name] for name in (KIND, SPLIT) if name in schema.names]
    selected = struct_of(uses, beside)
    return rows.pipe(partial(select_columns, tuple(uses), kernel_schema(selected)), selected)


def select_columns(
    uses: Sequence[ColumnUse], schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        beside = [batch.column(name) for name in schema.names[len(uses) :]]
        columns = [*(batch.column(use.source) for use in uses), *beside]
        typed = [_cast(column, field.type) for column, field in zip(columns, schema, strict=True)]
        prepared = [_prepare(column, use) for column, use in zip(typed, uses, strict=False)]
        yield pa.RecordBatch.from_arrays([*prepared, *typed[len(uses) :]], schema=schema)


def filter_rows(condition: Evaluator, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Passes on batches with no rows left, too: skipping them would let this reader run ahead of the others."""

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.filter(pa.array(to_mask(condition.evaluate(batch), batch.num_rows)))

    return (kept for batch in batches for kept in _evaluate_in_parts(keep, batch))


def compute_columns(
    evaluators: Sequence[Evaluator], schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The values of expressions, with the columns that the schema has beside them."""

    def compute(batch: pa.RecordBatch) -> pa.RecordBatch:
        if not schema.names:  # an array without columns would have no rows either
            return batch.select([])
        computed = (to_array(evaluator.evaluate(batch), batch.num_rows) for evaluator in evaluators)
        beside = (batch.column(name) for name in schema.names[len(evaluators) :])
        columns = zip((*computed, *beside), schema, strict=True)
        rows = pa.RecordBatch.from_arrays([_cast(column, field.type) for column, field in columns], schema=schema)
        if rows.nbytes > MOST_BYTES + batch.nbytes and rows.num_rows > 1:
            raise TooLargeError
        return rows

    return (rows for batch in batches for rows in _evaluate_in_parts(compute, batch))


def _evaluate_in_parts(
    evaluate: Callable[[pa.RecordBatch], pa.RecordBatch], batch: pa.RecordBatch
) -> Iterator[pa.RecordBatch]:
    """In halves if its values are too large together: short texts may be padded, replaced or joined with themselves."""
    try:
        result = evaluate(batch)
    except (TooLargeError, pa.ArrowCapacityError):
        if batch.num_rows <= 1:
            raise ExpressionError("[TEXT_TOO_LARGE] The value of one row is larger than 2 GiB.") from None
        half = batch.num_rows // 2
        yield from _evaluate_in_parts(evaluate, batch.slice(0, half))
        yield from _evaluate_in_parts(evaluate, batch.slice(half))
    else:
        yield result


def _prepare(column: pa.Array, use: ColumnUse) -> pa.Array:
    if use.is_condition:
        return pc.fill_null(column, fill_value=False)
    if use.is_compared and isinstance(use.type, FloatType | DoubleType):
        return pc.add(column, pa.scalar(0.0, column.type))  # minus zero becomes zero
    return column


def _cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(column.type) and pa.types.is_floating(type_):
        return floats_of_decimals(type_, column)
    return column if column.type.equals(type_) else column.cast(type_)
