"""Runs the user's Python functions in Spark, on Arrow data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from millstream.plan.typed import user_functions_in
from millstream.spark.types import spark_type
from millstream.sql.types import TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from millstream.catalog.functions import UserFunction
    from millstream.plan.typed import Typed
    from millstream.sql.types import DataType


_TIME: Final = pa.time32("ms")


def spark_name(function: UserFunction) -> str:
    """The name by which Spark knows it, which no function of Spark's has."""
    return f"millstream_user_{function.name.lower()}"


def register(spark: SparkSession, expression: Typed) -> None:
    """Registers the functions that the expression calls with the session."""
    for function in {id(found): found for found in user_functions_in(expression)}.values():
        for module in function.modules:
            cloudpickle.register_pickle_by_value(module)
        assert function.function is not None  # a script that runs has imported it
        code = function.function
        compute = _computation(function, code)
        made = arrow_udf(_convert_times(compute, function), spark_type(function.result))  # type: ignore[call-overload]
        spark.udf.register(spark_name(function), made)


def _computation(function: UserFunction, code: Callable[..., Any]) -> Callable[..., Any]:
    if function.gives_rows:
        return _collect_rows(code, function.result)
    return _wrap_vectorised(code) if function.is_vectorised else _apply_to_values(code, function.result)


def _wrap_vectorised(function: Callable[..., Any]) -> Callable[..., Any]:
    """Spark infers the kind of a function from its annotations, which the user's function need not have."""

    def compute(*arrays: pa.Array) -> pa.Array:
        return function(*arrays)

    return compute


def _apply_to_values(function: Callable[..., Any], result: DataType) -> Callable[..., Any]:
    """Applies a function of single values to each row of the arrays."""
    arrow_type = _arrow_type(result)

    def compute(*arrays: pa.Array) -> pa.Array:
        rows = zip(*(array.to_pylist() for array in arrays), strict=True)
        return pa.array([function(*row) for row in rows], type=arrow_type)

    return compute


def _collect_rows(function: Callable[..., Any], result: DataType) -> Callable[..., Any]:
    """Gathers what a call yields for each row of the arrays: a list of rows."""
    assert result.element is not None
    types = [_arrow_type(field.type) for field in result.element.fields]
    kept = [pa.int32() if type_ == _TIME else type_ for type_ in types]
    names = [field.name for field in result.element.fields]

    def compute(*arrays: pa.Array) -> pa.Array:
        ends, rows = [0], []
        for arguments in zip(*(array.to_pylist() for array in arrays), strict=True):
            rows += [_values_of(row, len(types)) for row in function(*arguments) or ()]
            ends.append(len(rows))
        columns = (pa.array([row[at] for row in rows], type=type_) for at, type_ in enumerate(types))
        structs = pa.StructArray.from_arrays([c.cast(type_) for c, type_ in zip(columns, kept, strict=True)], names)
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs)

    return compute


def _values_of(row: Any, count: int) -> Sequence[Any]:
    """A row of one column may be its value alone."""
    values: Sequence[Any] = row if isinstance(row, tuple | list) and (count > 1 or len(row) == 1) else (row,)
    if len(values) != count:
        found = f"{len(values)} value{'' if len(values) == 1 else 's'}"
        raise ValueError(f"it yields rows of {found}, and {count} columns are declared")
    return values


def _convert_times(compute: Callable[..., Any], user: UserFunction) -> Callable[..., Any]:
    """Passes times to a function where Spark has milliseconds of the day."""
    if not any(type_.root is TypeRoot.TIME for type_ in (*user.arguments, user.result)):
        return compute
    are_times = [type_.root is TypeRoot.TIME for type_ in user.arguments]
    gives_time = user.result.root is TypeRoot.TIME

    def through(*arrays: pa.Array) -> pa.Array:
        converted = (array.cast(_TIME) if is_time else array for array, is_time in zip(arrays, are_times, strict=True))
        found = compute(*converted)
        return found.cast(_TIME).cast(pa.int32()) if gives_time else found

    return through


def _arrow_type(type_: DataType) -> pa.DataType:
    if type_.root is TypeRoot.TIME:
        return _TIME
    schema = StructType.fromDDL(f"value {spark_type(type_)}")
    assert isinstance(schema, StructType)
    return to_arrow_schema(schema, timezone="UTC").field(0).type
