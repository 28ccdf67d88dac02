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
from millstream.plan.typed import Conversion, functions_in
from millstream.plan.vectorised.evaluators import Case, ExpressionError, to_array
from millstream.plan.vectorised.forms import FORMS, obstacle_of, vectorise
from millstream.sql.type_text import type_of_text
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
        rows = pa.record_batch(columns)
        found = evaluate(tree, rows)
        assert evaluate(tree, rows.slice(0, 0)) == [], text
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
        ("CASE WHEN n = 5 THEN 1 / 0 ELSE 0 END", [0] * 5),
        ("COALESCE(1, 1 / 0)", [1] * 5),
        ("IF(n = 5, CAST('x' AS INT), d)", [2, 0, 0, None, 1]),
        ("NULLIF(CASE WHEN d <> 0 THEN n / d END, 3)", [None, None, None, None, 2**31 - 1]),
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


@pytest.mark.parametrize(
    "text",
    [
        "TIMESTAMPADD(YEAR, 300000, t)",
        "TIMESTAMPADD(WEEK, 2147483647, t)",
        "TIMESTAMPADD(MONTH, -2147483648, t)",
        "CEIL(TIMESTAMPADD(DAY, 5, TIMESTAMPADD(YEAR, 292277, t)) TO YEAR)",
        "CAST(s AS DATE)",
        "CAST(s AS TIME)",
    ],
)
def test_a_time_without_a_value_fails_the_batch(text: str) -> None:
    columns = {"t": "TIMESTAMP(3)", "s": "STRING"}
    rows = pa.record_batch({"t": pa.array([0], pa.timestamp("us")), "s": ["2024-02-30"]})
    with pytest.raises(ExpressionError):
        evaluate(resolve(text, columns), rows)


def test_a_batch_without_rows_has_no_values() -> None:
    none = ROWS.slice(0, 0)
    for text in (
        "1 / 0",
        "n / d",
        "CASE WHEN d <> 0 THEN n / d ELSE -1 END",
        "CAST(s AS INT)",
        "UPPER(s) || 'x'",
        "n % d",
    ):
        assert evaluate(resolve(text, NUMBERS), none) == []


def test_what_only_spark_evaluates_is_named() -> None:
    columns = {"s": "STRING", "t": "TIMESTAMP(3)", "x": "DECIMAL(30, 2)", "y": "DECIMAL(20, 2)"}
    named = {
        "REGEXP(s, 'a+')": "REGEXP",
        "CAST(s AS TIMESTAMP(3)) IS NULL": "CAST(STRING AS TIMESTAMP(3))",
        "s LIKE s": "LIKE with such an argument",
        "x * y": "* with 51 digits",
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


def test_a_value_that_does_not_fit_its_column_fails() -> None:
    """Unlike in a CAST, where it is NULL."""
    rows = pa.record_batch({"d": pa.array([Decimal("1.5"), Decimal("12345.6789")], pa.decimal128(12, 4)), "n": [1, 2]})
    columns, wanted = {"d": "DECIMAL(12, 4)", "n": "BIGINT"}, type_of_text("DECIMAL(4, 2)")
    with pytest.raises(ExpressionError, match=r"12345\.6789 cannot be represented as Decimal\(4, 2\)"):
        vectorise(resolve("d", columns), wanted).evaluate(rows)
    assert vectorise(resolve("n", columns), wanted).evaluate(rows).to_pylist() == [Decimal("1.00"), Decimal("2.00")]
    assert evaluate(resolve("CAST(d AS DECIMAL(4, 2))", columns), rows) == [Decimal("1.50"), None]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [("ROW<x TIMESTAMP(6)>", "ROW<x TIMESTAMP(3)>"), ("ARRAY<TIMESTAMP(6)>", "ARRAY<TIMESTAMP(3)>")],
)
def test_nested_times_are_left_to_spark_where_they_lose_digits(found: str, wanted: str) -> None:
    tree = resolve("c", {"c": found})
    assert obstacle_of(tree, type_of_text(wanted)) == f"CAST({found} AS {wanted})"
    assert obstacle_of(tree, type_of_text(found)) is None


FAR = {
    "year 0": -62_167_219_200_000_000,
    "before the year 0": -62_200_000_000_000_000,
    "year 34725": 1_033_665_742_123_456_789,
    "first": -(2**63),
    "last": 2**63 - 1,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CAST(u AS STRING)", ["0000-01-01 00:00:00.000000", "-0002-12-17 14:13:20.000000"]),
        ("DATE_FORMAT(u, 'yyyy/MM')", ["0000/01", "-0002/12", "+34725/07", "-290308/12", "+294247/01"]),
        ("YEAR(u)", [0, -2, 34725, -290308, 294247]),
        ("MONTH(u)", [1, 12, 7, 12, 1]),
    ],
)
def test_times_far_away(text: str, expected: list[Any]) -> None:
    rows = pa.record_batch({"u": pa.array(list(FAR.values()), pa.int64()).cast(pa.timestamp("us"))})
    assert evaluate(resolve(text, {"u": "TIMESTAMP(6)"}), rows)[: len(expected)] == expected


@pytest.mark.parametrize("text", ["FLOOR(u TO DAY)", "CAST(u AS TIMESTAMP(0))"])
def test_a_time_that_cannot_be_rounded_down_fails(text: str) -> None:
    rows = pa.record_batch({"u": pa.array([-(2**63)], pa.int64()).cast(pa.timestamp("us"))})
    with pytest.raises(ExpressionError, match="DATETIME_OVERFLOW"):
        evaluate(resolve(text, {"u": "TIMESTAMP(6)"}), rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("da + INTERVAL '1' MONTH", "2024-02-29"),
        ("da - INTERVAL '11' MONTH", "2023-02-28"),
        ("INTERVAL '1-2' YEAR TO MONTH + da", "2025-03-31"),
        ("DATE '1994-01-01' + INTERVAL '1' YEAR", "1995-01-01"),
        ("t + INTERVAL '1' MONTH", "2024-02-29 12:00:00"),
        ("t - INTERVAL '400' YEAR", "1624-01-31 12:00:00"),
    ],
)
def test_times_are_moved_by_months(text: str, expected: str) -> None:
    """A day that the month does not have is its last one."""
    columns = {"da": "DATE", "t": "TIMESTAMP(3)"}
    dates = pa.array(["2024-01-31", None]).cast(pa.date32())
    times = pa.array(["2024-01-31 12:00:00", None]).cast(pa.timestamp("us"))
    found = evaluate(resolve(text, columns), pa.record_batch({"da": dates, "t": times}))
    assert list(map(str, found)) == [expected, expected if "1994" in text else "None"]


@pytest.mark.parametrize("text", ["da + INTERVAL '9999' YEAR(4)", "t + INTERVAL '9999' YEAR(4)"])
def test_times_moved_too_far_have_no_value(text: str) -> None:
    columns = {"da": "DATE", "t": "TIMESTAMP(3)"}
    latest = pa.array([(1 << 31) - 1], pa.int32()).cast(pa.date32())
    rows = pa.record_batch({"da": latest, "t": pa.array([(1 << 63) - 1], pa.timestamp("us"))})
    with pytest.raises(ExpressionError, match="DATETIME_OVERFLOW"):
        evaluate(resolve(text, columns), rows)


def test_literals_beyond_pythons_years() -> None:
    columns = {"da": "DATE", "t": "TIMESTAMP(3)"}
    rows = pa.record_batch({"da": pa.array([0], pa.int32()).cast(pa.date32()), "t": pa.array([0], pa.timestamp("us"))})
    for text in (
        "da > DATE '0000-01-01'",
        "t < TIMESTAMP '9999-12-31 23:59:59' + INTERVAL '1' HOUR",
        "CAST(DATE '9999-12-31' + INTERVAL '1' DAY AS TIMESTAMP(3)) > t",
        "da NOT IN (DATE '9999-12-31' + INTERVAL '1' DAY)",
    ):
        assert evaluate(resolve(text, columns), rows) == [True]


def test_a_text_of_thousands_of_digits_is_no_integer() -> None:
    rows = pa.record_batch({"s": ["9" * 5000, "0" * 5000 + "7", "-" + "0" * 30 + "8", "+" + "0" * 4400]})
    assert evaluate(resolve("TRY_CAST(s AS INT)", {"s": "STRING"}), rows) == [None, 7, -8, 0]


def test_a_backslash_in_a_pattern_is_left_to_spark() -> None:
    assert obstacle_of(resolve("s LIKE '%a\\b%'", {"s": "STRING"})) == "LIKE with a backslash"


def test_indices_beyond_an_int_are_left_to_spark() -> None:
    for text in ("SPLIT_INDEX(s, 'a', 2147483648)", "LEFT(s, 4294967297)", "SUBSTRING(s, 2147483648)"):
        assert obstacle_of(resolve(text, {"s": "STRING"})) is not None
    rows = pa.record_batch({"s": ["a", "xay"]})
    assert evaluate(resolve("SPLIT_INDEX(s, 'a', 2147483647)", {"s": "STRING"}), rows) == [None, None]


def test_what_occurs_several_times_is_evaluated_once() -> None:
    text = "n"
    for _ in range(30):
        text = f"NULLIF({text}, 1) "
    nested = "d"
    for _ in range(8):
        nested = f"CASE WHEN ({nested}) BETWEEN SYMMETRIC 0 AND 9 THEN 1 END"
    assert evaluate(resolve(text, NUMBERS), ROWS) == [6, 7, None, -8, 2**31 - 1]
    assert evaluate(resolve(nested, NUMBERS), ROWS) == [1, 1, 1, None, 1]


def test_an_expression_too_deep_to_compile_is_left_to_spark() -> None:
    tree = resolve("s", {"s": "STRING"})
    deep = {}
    for depth in range(1, 5001):
        deep[depth] = tree
        tree = Conversion(tree, tree.type, attempt=False)
    assert [obstacle_of(deep[depth]) is None for depth in (1, 100, 101, 5000)] == [True, True, False, False]
    assert evaluate(deep[100], pa.record_batch({"s": ["a"]})) == ["a"]
