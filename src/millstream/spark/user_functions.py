"""The user's Python functions inside Spark, on Arrow data."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from millstream.plan.typed import Call, Conversion, FieldOf, Typed, UserCall, Word
from millstream.spark.types import spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from millstream.catalog.functions import UserFunction
    from millstream.sql.types import DataType


def called(function: UserFunction) -> str:
    """The name under which Spark knows it: no function of Spark's has such a one."""
    return f"millstream_user_{function.name.lower()}"


def register(spark: SparkSession, expression: Typed) -> None:
    """Makes the functions that the expression calls known to the session."""
    for function in {id(found): found for found in _functions(expression)}.values():
        for module in function.modules:
            cloudpickle.register_pickle_by_value(module)
        computed = function.function if function.is_vectorised else _by_value(function.function, function.result)
        with warnings.catch_warnings():  # Spark would rather read the type from hints, which a user's function may lack
            warnings.simplefilter("ignore", UserWarning)
            made = arrow_udf(computed, spark_type(function.result), ArrowUDFType.SCALAR)
        spark.udf.register(called(function), made)


def _functions(node: Typed | Word | DataType) -> Iterator[UserFunction]:
    match node:
        case UserCall():
            yield node.function
            for argument in node.arguments:
                yield from _functions(argument)
        case Call():
            for part in (*node.arguments, *(value for _, value in node.clauses)):
                yield from _functions(part)
        case Conversion():
            yield from _functions(node.value)
        case FieldOf():
            yield from _functions(node.row)


def _by_value(function: Callable[..., Any], result: DataType) -> Callable[..., Any]:
    """A function of single values, applied along the arrays."""

    def apply(*arrays: Any) -> Any:
        import pyarrow as pa

        rows = zip(*(array.to_pylist() for array in arrays), strict=True)
        return pa.array([function(*row) for row in rows], type=arrow_type)

    arrow_type = _arrow_type(result)
    return apply


def _arrow_type(type_: DataType) -> Any:
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import _parse_datatype_string

    return to_arrow_type(_parse_datatype_string(spark_type(type_)), timezone="UTC")
