"""Translates expressions to Spark, using the Spark SQL that each function declares."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from millstream.plan.functions.signatures import given_of
from millstream.plan.functions.spark_text import field_of, quote
from millstream.plan.typed import Call, Constant, Conversion, FieldOf, InputColumn, Typed, UserCall, Word
from millstream.spark.casts import coerce, convert, store
from millstream.spark.types import quote_name as quoted_name
from millstream.spark.types import spark_type
from millstream.spark.user_functions import register, spark_name
from millstream.sql.functions import SparkCall
from millstream.sql.nesting import with_room
from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def column_of(expression: Typed, spark: SparkSession | None = None, wanted: DataType | None = None) -> Column:
    """An expression as a column, of type `wanted` if that is not None.

    The user's functions are registered with `spark`, the session of the rows.
    """
    if spark is not None:
        register(spark, expression)
    text = with_room(lambda: spark_text(expression))
    return F.expr(text if wanted is None else store(text, expression.type, wanted))


def spark_text(node: Typed) -> str:
    match node:
        case InputColumn():
            return quoted_name(node.name)
        case Constant():
            return _literal(node)
        case FieldOf():
            return field_of(spark_text(node.row), node.name)
        case Conversion():
            return convert(spark_text(node.value), node.value.type, node.type, attempt=node.attempt)
        case UserCall():
            arguments = (
                coerce(spark_text(argument), argument.type, wanted)
                for argument, wanted in zip(node.arguments, node.function.arguments, strict=True)
            )
            return f"{spark_name(node.function)}({', '.join(arguments)})"
        case Call():
            return _call(node)


def _call(node: Call) -> str:
    form = node.function.spark
    assert form is not None, f"{node.function.name} is computed by an operator"
    clauses = {name: spark_text(value) for name, value in node.clauses if not isinstance(value, Word | DataType)}
    call = SparkCall(
        tuple(_argument(node, index) for index in range(len(node.arguments))),
        given_of(node.arguments, dict(node.clauses)),
        node.type,
        clauses,
        tuple(item.function.name if isinstance(item, Call) else "" for item in node.arguments),
        coerce,
        spark_type,
    )
    if isinstance(form, str):
        return form.format(*call.texts, rest=", ".join(call.texts), type=call.type)
    return form(call)


def _argument(node: Call, index: int) -> str:
    argument = node.arguments[index]
    if isinstance(argument, Word):
        return argument.text
    text = spark_text(argument)
    wanted = node.signature.parameter(index).read_as
    return text if wanted is None else coerce(text, argument.type, wanted)


def _literal(node: Constant) -> str:
    value, text = node.value, str(node.value)
    if value is None and node.type.root is not TypeRoot.NULL:
        return f"CAST(NULL AS {spark_type(node.type)})"
    match node.type.root:
        case TypeRoot.NULL:
            text = "NULL"
        case TypeRoot.BIGINT:
            text = f"{value}L"
        case TypeRoot.DOUBLE:
            text = f"{value!r}D"
        case TypeRoot.DECIMAL:
            assert isinstance(value, Decimal)
            text = f"CAST('{value:f}' AS {spark_type(node.type)})"
        case TypeRoot.BINARY:
            assert isinstance(value, bytes)
            text = f"X'{value.hex()}'"
        case TypeRoot.CHAR:
            text = quote(text)
        case TypeRoot.INTERVAL_YEAR_MONTH:
            text = f"make_ym_interval(0, {value})"
        case TypeRoot.INTERVAL_DAY_TIME:
            assert isinstance(value, int)
            text = f"make_dt_interval(0, 0, 0, CAST('{Decimal(value) / 1_000_000:f}' AS DECIMAL(18, 6)))"
    return f"({text})" if text.startswith("-") else text
