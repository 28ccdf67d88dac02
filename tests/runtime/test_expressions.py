"""Expressions have the same values and types in Spark as in Flink."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from millstream.plan.functions.registry import FUNCTIONS
from millstream.plan.typed import Constant, functions_in
from millstream.spark.expressions import column_of, spark_text
from millstream.spark.types import spark_type
from millstream.sql.functions import Category
from tests.runtime.expression_cases import FAILING, GROUPS, NAN
from tests.unit.plan.expressions import resolve
from tests.unit.plan.literals import replace_literals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return NAN
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.mark.parametrize("group", GROUPS)
def test_values_and_types_are_those_of_flink(spark: SparkSession, group: str) -> None:
    cases = GROUPS[group]
    expressions = [resolve(text) for text, _ in cases]
    columns = [column_of(tree).alias(f"c{number}") for number, tree in enumerate(expressions)]
    rows = spark.range(1).select(*columns)
    [found] = rows.collect()
    wrong = [
        (text, expected, plain(value))
        for (text, expected), value in zip(cases, found, strict=True)
        if plain(value) != expected or type(plain(value)) is not type(expected)
    ]
    assert wrong == []
    declared = ", ".join(f"c{number} {spark_type(tree.type)}" for number, tree in enumerate(expressions))
    wanted = spark.createDataFrame([], declared).schema
    assert [field.dataType.simpleString() for field in rows.schema] == [
        field.dataType.simpleString() for field in wanted
    ]


@pytest.mark.parametrize("group", GROUPS)
def test_columns_give_what_literals_give(spark: SparkSession, group: str) -> None:
    """Spark evaluates literals while planning, with other code than it generates for rows."""
    cases, values = GROUPS[group], dict[str, Constant]()
    trees = [replace_literals(resolve(text), values) for text, _ in cases]
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
    rows = spark.range(1).select(column_of(resolve(text)))
    with pytest.raises(PySparkException):
        rows.collect()


def test_every_function_has_a_case() -> None:
    trees = (resolve(text) for cases in GROUPS.values() for text, _ in cases)
    tried = {name for tree in trees for name in functions_in(tree)}
    of_rows = {
        name
        for name, function in FUNCTIONS.items()
        if not function.is_aggregate and function.category is not Category.WINDOW
    }
    assert of_rows - tried == set()


def test_columns_and_fields_are_found_by_their_names(spark: SparkSession) -> None:
    columns = {"a.b": "INT", "r": "ROW<x INT, `y z` STRING>", "m": "MAP<STRING, INT>"}
    rows = spark.sql("SELECT 5 AS `a.b`, named_struct('x', 1, 'y z', 'q') AS r, map('k', 7) AS m")
    texts = ["`a.b` + t.r.x", "r.`y z`", "m['k'] + t.`a.b`"]
    found = rows.select(*(column_of(resolve(text, columns)) for text in texts)).collect()
    assert [tuple(row) for row in found] == [(6, "q", 12)]


def evaluate(rows: DataFrame, columns: dict[str, str], *texts: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows.select(*(column_of(resolve(text, columns)) for text in texts)).collect()]


def test_maps_in_columns_are_compared_by_keys_and_values(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT * FROM VALUES (map('a', 1, 'b', 2), map('b', 2, 'a', 1)), (map('a', 1), map('a', 2)),"
        " (map('a', CAST(NULL AS INT)), map('a', CAST(NULL AS INT))), (map('a', 1), map('b', 1)), (NULL, map('a', 1))"
        " AS t (m, n)"
    )
    columns = dict.fromkeys("mn", "MAP<STRING, INT>")
    found = evaluate(rows, columns, "m = n", "m <> n", "m IN (n, MAP['a', 1])", "m IS DISTINCT FROM n")
    assert found == [
        (True, False, True, False),
        (False, True, True, True),
        (False, True, False, True),
        (False, True, True, True),
        (None, None, None, True),
    ]
    counted = evaluate(rows.limit(2), dict.fromkeys("mn", "MULTISET<STRING>"), "m = n", "ROW(1, m) = ROW(1, n)")
    assert counted == [(True, True), (False, False)]


def test_a_text_in_a_column_meets_a_number(spark: SparkSession) -> None:
    rows = spark.sql("SELECT * FROM VALUES ('10', 9, 9.5BD), ('7.9', 8, 7.95BD), (NULL, 1, 1BD) AS t (s, n, d)")
    columns = {"s": "STRING", "n": "INT", "d": "DECIMAL(3, 2)"}
    found = evaluate(rows, columns, "s < n", "s >= d", "s BETWEEN n AND 10", "s IN (n, 10)", "n IN (s, '9')")
    assert found == [(False, True, True, True, True), (True, False, False, False, False), (None,) * 5]


def test_a_seed_in_a_column_gives_the_number_that_it_gives_in_flink(spark: SparkSession) -> None:
    rows = spark.sql("SELECT * FROM VALUES (1), (1), (2), (NULL) AS t (n)")
    found = evaluate(rows, {"n": "INT"}, "RAND(n)", "RAND_INTEGER(n, 10) BETWEEN 0 AND 9")
    first, second = 0.7308781907032909, 0.7311469360199058
    assert found == [(first, True), (first, True), (second, True), (None, None)]


def test_fields_of_rows_in_columns_are_found_in_brackets(spark: SparkSession) -> None:
    rows = spark.sql("SELECT named_struct('x', id, 'y', named_struct('z', 'q')) AS r FROM range(2)")
    found = evaluate(rows, {"r": "ROW<x BIGINT, y ROW<z STRING>>"}, "r['x'] + 1", "r[1]", "r['y']['z']", "t.r.y['z']")
    assert found == [(1, 0, "q", "q"), (2, 1, "q", "q")]
