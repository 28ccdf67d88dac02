"""Expressions on Arrow data have the values they have in Flink, and fail where they fail there."""

from __future__ import annotations

import math
import pickle
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from millstream.formats.arrow_types import arrow_type
from millstream.plan.functions.registry import FUNCTIONS
from millstream.plan.typed import functions_in
from millstream.plan.vectorised.evaluators import Case, ExpressionError, to_array
from millstream.plan.vectorised.forms import FORMS, obstacle_of, vectorise
from tests.runtime.expression_cases import FAILING, GROUPS, NAN
from tests.unit.plan.expressions import resolve
from tests.unit.plan.literals import replace_literals

if TYPE_CHECKING:
    from millstream.plan.typed import Constant, Typed

ONE_ROW = pa.record_batch({"id": [1]})
CASES = {text: expected for cases in GROUPS.values() for text, expected in cases}


def evaluate(tree: Typed, rows: pa.RecordBatch) -> list[Any]:
    evaluator = pickle.loads(pickle.dumps(vectorise(tree)))  # as workers receive it
    return [plain(value) for value in to_array(evaluator.evaluate(rows), rows.num_rows).to_pylist()]


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return NAN if isinstance(value, float) and math.isnan(value) else value


def vectorised(texts: dict[str, Any]) -> dict[str, Any]:
    return {text: expected for text, expected in texts.items() if obstacle_of(resolve(text)) is None}


def test_literals_have_the_values_of_flink() -> None:
    cases = vectorised(CASES)
    wrong = []
    for text, expected in cases.items():
        [found] = evaluate(resolve(text), ONE_ROW)
        if found != expected or type(found) is not type(expected):
            wrong.append((text, expected, found))
    assert wrong == []
    assert len(cases) > 200


def test_columns_have_the_values_of_flink() -> None:
    tried, wrong = 0, []
    for text, expected in CASES.items():
        values: dict[str, Constant] = {}
        tree = replace_literals(resolve(text), values)
        if not values or obstacle_of(tree) is not None:
            continue
        tried += 1
        columns = {name: pa.array([value.value] * 3, arrow_type(value.type)) for name, value in values.items()}
        found = evaluate(tree, pa.record_batch(columns))
        if found != [expected] * 3:
            wrong.append((text, expected, found))
    assert wrong == []
    assert tried > 130


def test_every_form_is_of_a_function_and_has_a_case() -> None:
    assert set(FORMS) <= set(FUNCTIONS)
    tried = {name for text in vectorised(CASES) for name in functions_in(resolve(text))}
    assert set(FORMS) - tried == set()


@pytest.mark.parametrize("text", vectorised(dict.fromkeys(FAILING)))
def test_what_fails_in_flink_fails(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"^\[[A-Z_]+\] "):
        evaluate(resolve(text), ONE_ROW)


NUMBERS = {"n": "INT", "d": "INT", "s": "STRING", "b": "BOOLEAN"}
ROWS = pa.record_batch(
    {
        "n": pa.array([6, 7, None, -8, 2**31 - 1], pa.int32()),
        "d": pa.array([2, 0, 0, None, 1], pa.int32()),
        "s": pa.array(["1", "x", None, "y", "5"]),
        "b": pa.array([True, False, None, True, False]),
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CASE WHEN d <> 0 THEN n / d ELSE -1 END", [3, -1, -1, -1, 2**31 - 1]),
        ("d <> 0 AND n / d > 2", [True, False, False, None, True]),
        ("d = 0 OR n / d > 2", [True, True, True, None, True]),
        ("COALESCE(d, n + 1)", [2, 0, 0, -7, 1]),
        ("IF(s IN ('x', 'y'), 0, CAST(s AS INT))", [1, 0, None, 0, 5]),
        ("CASE WHEN s = 'x' THEN 0 WHEN s = 'y' THEN 1 WHEN CAST(s AS INT) = 5 THEN 2 END", [None, 0, None, 1, 2]),
        ("NULLIF(d, 0)", [2, None, None, None, 1]),
        ("n / NULLIF(d, 0)", [3, None, None, None, 2**31 - 1]),
        ("CASE WHEN n < 2147483647 THEN n + 1 END", [7, 8, None, -7, None]),
        ("CASE WHEN FALSE THEN n / 0 ELSE 5 END", [5] * 5),
        ("b AND n > 6", [False, False, None, False, False]),
        ("d BETWEEN 0 AND CASE WHEN d = 0 THEN n / 1 ELSE n / d END", [True, True, None, None, True]),
    ],
)
def test_only_rows_that_come_to_a_part_are_given_to_it(text: str, expected: list[Any]) -> None:
    assert evaluate(resolve(text, NUMBERS), ROWS) == expected


@pytest.mark.parametrize("text", ["n / d", "n + 1", "CAST(s AS INT)", "CASE WHEN d = 0 THEN n / d END", "n % d"])
def test_one_row_without_a_value_fails_the_batch(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(resolve(text, NUMBERS), ROWS)


def test_a_batch_without_rows_has_no_values() -> None:
    none = ROWS.slice(0, 0)
    for text in ("n / d", "CASE WHEN d <> 0 THEN n / d ELSE -1 END", "CAST(s AS INT)", "UPPER(s) || 'x'", "n % d"):
        assert evaluate(resolve(text, NUMBERS), none) == []


def test_what_only_spark_evaluates_is_named() -> None:
    columns = {"s": "STRING", "t": "TIMESTAMP(3)", "x": "DECIMAL(30, 2)", "y": "DECIMAL(20, 2)"}
    named = {
        "REGEXP(s, 'a+')": "REGEXP",
        "CAST(s AS DATE) IS NULL": "CAST(STRING AS DATE)",
        "s LIKE s": "LIKE with such an argument",
        "x * y": "* with 51 digits",
        "t + INTERVAL '1' MONTH": "+ with such an interval",
        "CURRENT_TIMESTAMP > t": "CURRENT_TIMESTAMP",
    }
    assert {text: obstacle_of(resolve(text, columns)) for text in named} == named


def test_fields_of_rows_that_are_null_are_null() -> None:
    type_ = pa.struct([("x", pa.int64()), ("y", pa.string())])
    rows = pa.record_batch({"r": pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}], type_)})
    columns = {"r": "ROW<x BIGINT, y STRING>"}
    assert evaluate(resolve("r.x + 1", columns), rows) == [2, None, None]
    assert evaluate(resolve("r.y IS NULL", columns), rows) == [False, True, False]


def test_a_slice_of_a_batch_is_evaluated_like_a_batch() -> None:
    columns = {"s": "STRING", "d": "DECIMAL(10, 2)", "t": "TIMESTAMP(3)"}
    rows = pa.record_batch(
        {
            "s": ["a,b", "ä,c,d", "", None, "E,f"],
            "d": pa.array(
                [Decimal("1.25"), None, Decimal("-3.55"), Decimal("0.05"), Decimal("9.99")], pa.decimal128(10, 2)
            ),
            "t": pa.array([0, 1_500_000, None, -1, 86_400_000_000], pa.timestamp("us")),
        }
    )
    for text in ("UPPER(s)", "SPLIT_INDEX(s, ',', 1)", "CAST(d AS DECIMAL(4, 1))", "DATE_FORMAT(t, 'HH:mm:ss.SSS')"):
        tree = resolve(text, columns)
        assert evaluate(tree, rows.slice(2, 3)) == evaluate(tree, rows)[2:]


def test_parts_that_cannot_fail_are_evaluated_on_all_rows() -> None:
    case = vectorise(resolve("CASE WHEN n > 1 THEN 'a' ELSE s END", NUMBERS))
    assert isinstance(case, Case)
    assert not case.may_fail
    assert vectorise(resolve("CASE WHEN n > 1 THEN 1 ELSE n + 1 END", NUMBERS)).may_fail
