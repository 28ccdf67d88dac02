"""Expressions give in Spark what they give in Flink, in value and in type."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from millstream.plan.functions.registry import FUNCTIONS
from millstream.plan.typed import Call, Constant, Conversion, FieldOf, InputColumn, Typed, Word
from millstream.plan.typing import typed
from millstream.spark.expressions import column_of, spark_text
from millstream.spark.types import spark_type
from millstream.sql.type_text import type_of_text
from millstream.sql.types import INTERVALS, TypeRoot
from tests.runtime.expression_cases import FAILING, GROUPS, NAN
from tests.unit.plan.expressions import bound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def no_column(_: str) -> None:
    return None


def plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return NAN
    return bytes(value) if isinstance(value, bytearray) else value


def functions_in(node: Typed | Word) -> Iterator[str]:
    match node:
        case Call():
            yield node.function.name
            for argument in node.arguments:
                yield from functions_in(argument)
        case Conversion():
            yield from functions_in(node.value)
        case FieldOf():
            yield from functions_in(node.row)


@pytest.mark.parametrize("group", GROUPS)
def test_values_and_types_are_those_of_flink(spark: SparkSession, group: str) -> None:
    cases = GROUPS[group]
    expressions = [bound(text) for text, _ in cases]
    columns = [column_of(tree, {}).alias(f"c{number}") for number, tree in enumerate(expressions)]
    rows = spark.range(1).select(*columns)
    [found] = rows.collect()
    wrong = [
        (text, expected, plain(value))
        for (text, expected), value in zip(cases, found, strict=True)
        if plain(value) != expected or type(plain(value)) is not type(expected)
    ]
    assert wrong == []
    declared = ", ".join(
        f"c{number} {spark_type(typed(tree, no_column).type)}" for number, tree in enumerate(expressions)
    )
    wanted = spark.createDataFrame([], declared).schema
    assert [field.dataType.simpleString() for field in rows.schema] == [
        field.dataType.simpleString() for field in wanted
    ]


def with_columns(node: Typed, values: dict[str, Constant]) -> Typed:
    """The same expression with columns in place of its literals, where no literal must stand."""
    match node:
        case Constant() if node.type.root not in (TypeRoot.NULL, *INTERVALS):
            name = f"k{len(values)}"
            values[name] = node
            return InputColumn(name, node.type)
        case Call():
            arguments = tuple(
                item
                if isinstance(item, Word) or node.signature.parameter(index).literal or node.function.name in _LITERAL
                else with_columns(item, values)
                for index, item in enumerate(node.arguments)
            )
            return replace(node, arguments=arguments)
        case Conversion():
            return replace(node, value=with_columns(node.value, values))
        case FieldOf():
            return replace(node, row=with_columns(node.row, values))
        case _:
            return node


_LITERAL = ("JSON_OBJECT", "TYPEOF")


@pytest.mark.parametrize("group", GROUPS)
def test_columns_give_what_literals_give(spark: SparkSession, group: str) -> None:
    """Spark computes literals while it plans, by other code than the one that it makes for rows."""
    cases, values = GROUPS[group], dict[str, Constant]()
    trees = [with_columns(typed(bound(text), no_column), values) for text, _ in cases]
    literals = spark.range(1).select(*(F.expr(spark_text(value)).alias(name) for name, value in values.items()))
    rows = spark.createDataFrame(literals.collect(), literals.schema)
    [found] = rows.select(*(F.expr(spark_text(tree)) for tree in trees)).collect()
    wrong = [
        (text, expected, plain(value))
        for (text, expected), value in zip(cases, found, strict=True)
        if plain(value) != expected
    ]
    assert wrong == []


@pytest.mark.parametrize("text", FAILING)
def test_what_fails_in_flink_fails(spark: SparkSession, text: str) -> None:
    rows = spark.range(1).select(column_of(bound(text), {}))
    with pytest.raises(PySparkException):
        rows.collect()


def test_every_function_has_a_case() -> None:
    trees = (typed(bound(text), no_column) for cases in GROUPS.values() for text, _ in cases)
    tried = {name for tree in trees for name in functions_in(tree)}
    assert {name for name, function in FUNCTIONS.items() if not function.is_aggregate} - tried == set()


def test_columns_and_fields_are_found_by_their_names(spark: SparkSession) -> None:
    columns = {"a.b": "INT", "r": "ROW<x INT, `y z` STRING>", "m": "MAP<STRING, INT>"}
    rows = spark.sql("SELECT 5 AS `a.b`, named_struct('x', 1, 'y z', 'q') AS r, map('k', 7) AS m")
    types = {name: type_of_text(text) for name, text in columns.items()}
    texts = ["`a.b` + t.r.x", "r.`y z`", "m['k'] + t.`a.b`"]
    found = rows.select(*(column_of(bound(text, columns), types) for text in texts)).collect()
    assert [tuple(row) for row in found] == [(6, "q", 12)]
