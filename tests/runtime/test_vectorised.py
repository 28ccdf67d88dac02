"""Expressions on Arrow data have the values that Spark gives them, on random rows of every type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.formats.arrow_types import arrow_type
from millstream.plan.vectorised.evaluators import to_array
from millstream.plan.vectorised.forms import obstacle_of, vectorise
from millstream.spark.expressions import column_of
from tests.runtime.vectorised_cases import COLUMNS, EXPRESSIONS, ROWS, draw_rows
from tests.unit.plan.expressions import resolve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_arrow_gives_what_spark_gives(spark: SparkSession) -> None:
    rows = draw_rows()
    trees = [resolve(text, COLUMNS) for text in EXPRESSIONS]
    obstacles = {text: obstacle_of(tree) for text, tree in zip(EXPRESSIONS, trees, strict=True)}
    assert {text: obstacle for text, obstacle in obstacles.items() if obstacle is not None} == {}
    frame = spark.createDataFrame(rows)
    wrong = []
    for start in range(0, len(trees), 100):  # Spark compiles fewer columns faster
        part = trees[start : start + 100]
        found = frame.select(*(column_of(tree).alias(f"c{number}") for number, tree in enumerate(part))).toArrow()
        [batch] = rows.combine_chunks().to_batches()
        for text, tree, column in zip(EXPRESSIONS[start:], part, found.columns, strict=False):
            by_spark = column.combine_chunks().cast(arrow_type(tree.type))
            by_arrow = to_array(vectorise(tree).evaluate(batch), ROWS)
            wrong += _differences(text, rows, by_spark, by_arrow)
    assert not wrong, "\n".join(map(str, wrong))


def _differences(text: str, rows: pa.Table, by_spark: pa.Array, by_arrow: pa.Array) -> list[tuple[Any, ...]]:
    assert by_arrow.type == by_spark.type, text
    if by_arrow.equals(by_spark) and not pa.types.is_floating(by_arrow.type):
        return []
    pairs = zip(map(repr, _values(by_spark)), map(repr, _values(by_arrow)), strict=True)
    differing = [number for number, (left, right) in enumerate(pairs) if left != right]
    names = [name for name in COLUMNS if name in text.replace("(", " ").replace(",", " ").replace(")", " ").split()]
    return [
        (text, len(differing), [rows[name][number].as_py() for name in names], by_spark[number], by_arrow[number])
        for number in differing[:1]
    ]


def _values(array: pa.Array) -> list[Any]:
    """Numbers of a time instead of a time, since Python's years end at 9999."""
    values: list[Any] = (array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array).to_pylist()
    return values
