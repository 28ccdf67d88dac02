"""The rules of each aggregate, one by one, with Flink's examples where there are any."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from millstream.changelog import KIND, RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from tests.unit.kernels.bench import Bench

KEY = pa.field("key", pa.string())
VARIANCES = ("STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP")


class Group:
    """One call over one column, and the last change of group "A"."""

    def __init__(self, function: str, type_: pa.DataType, **options: Any) -> None:
        schema = pa.schema([KEY, ("x", type_)])
        call = Call("y", function, "x", **options)
        self._bench = Bench(AggregateOperator(("key",), (call,), schema), schema)

    def insert(self, *values: object) -> list[tuple[str, object]]:
        return self._step(RowKind.INSERT, values)

    def delete(self, *values: object) -> list[tuple[str, object]]:
        return self._step(RowKind.DELETE, values)

    def _step(self, kind: RowKind, values: tuple[object, ...]) -> list[tuple[str, object]]:
        changes = self._bench.step([(kind, ("A", value)) for value in values])
        return [(RowKind(change[KIND]).symbol, change["y"]) for change in changes]


@pytest.mark.parametrize(
    ("type_", "values", "expected"),
    [
        (pa.int8(), (1, 2, 3), (0, 1, 0, 1)),
        (pa.int16(), (16, 32, 48), (13, 16, 170, 256)),
        (pa.int32(), (256, 512, 768), (209, 256, 43690, 65536)),
        (pa.int64(), (4096, 8192, 12288), (3344, 4096, 11184810, 16777216)),
        (pa.float64(), (1.0, 1.5, 2.0), (0.408248, 0.5, 0.166667, 0.25)),
        (pa.float64(), (0.27, 0.27, 0.27), (0.0, 0.0, 0.0, 0.0)),
        (
            pa.decimal128(10, 2),
            (Decimal("0.27"), Decimal("0.28"), Decimal("0.29")),
            (Decimal("0.008165"), Decimal("0.010000"), Decimal("0.000067"), Decimal("0.000100")),
        ),
    ],
)
def test_variances_have_the_type_of_an_average(
    type_: pa.DataType, values: tuple[object, ...], expected: tuple[object, ...]
) -> None:
    found = [Group(function, type_).insert(*values)[0][1] for function in VARIANCES]
    assert found == [pytest.approx(value, abs=1e-6) if isinstance(value, float) else value for value in expected]


def test_a_variance_of_large_numbers_keeps_every_digit_when_rows_go() -> None:
    group = Group("VAR_POP", pa.int64())
    group.insert(2**62, -(2**63), 10**15, 10**15 + 4)
    assert group.delete(2**62, -(2**63)) == [("+U", 4)]


def test_a_float_variance_of_distant_numbers_stays_sound() -> None:
    group = Group("VAR_POP", pa.float64())
    group.insert(1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4)
    assert group.delete(1e9 + 4) == [("+U", pytest.approx(2 / 3, rel=1e-6))]
    assert group.delete(1e9 + 3, 1e9 + 2) == [("+U", 0.0)]


def test_averages_of_whole_numbers_are_cut_off_toward_zero() -> None:
    group = Group("AVG", pa.int32())
    assert group.insert(-3, -4) == [("+I", -3)]
    assert group.insert(-4) == []
    assert group.insert(100) == [("+U", 22)]


def test_averages_of_decimals_have_six_digits_rounded_half_up() -> None:
    group = Group("AVG", pa.decimal128(10, 2))
    assert group.insert(Decimal("0.01"), Decimal("0.01"), Decimal("0.03")) == [("+I", Decimal("0.016667"))]
    assert group.delete(Decimal("0.03")) == [("+U", Decimal("0.010000"))]


def test_an_average_that_does_not_fit_its_type_is_null() -> None:
    group = Group("AVG", pa.decimal128(38, 0))
    assert group.insert(Decimal("9" * 38)) == [("+I", None)]
    assert group.insert(Decimal("-" + "9" * 38), Decimal(7)) == [("+U", Decimal("2.333333"))]


def test_the_earliest_equal_value_is_taken_back() -> None:
    texts = Group("LISTAGG", pa.string(), parameters=("-",))
    assert texts.insert("a", "b", None, "a") == [("+I", "a-b-a")]
    assert texts.delete("a") == [("+U", "b-a")]
    first = Group("FIRST_VALUE", pa.string())
    assert first.insert(None, "a", "b", "a") == [("+I", "a")]
    assert first.delete("a") == [("+U", "b")]
    last = Group("LAST_VALUE", pa.string())
    assert last.insert("a", "b", "a", None) == [("+I", "a")]
    assert last.delete("a") == []
    assert last.delete("a") == [("+U", "b")]


def test_a_distinct_value_keeps_the_place_of_its_first_row() -> None:
    texts = Group("LISTAGG", pa.string(), distinct=True)
    assert texts.insert("a", "b", "a") == [("+I", "a,b")]
    assert texts.delete("a") == []
    assert texts.delete("a") == [("+U", "b")]
    assert texts.insert("a") == [("+U", "b,a")]


def test_arrays_keep_nulls_and_are_null_when_empty() -> None:
    array = Group("ARRAY_AGG", pa.int32())
    assert array.insert(1, None, 1) == [("+I", [1, None, 1])]
    assert array.delete(None) == [("+U", [1, 1])]
    unique = Group("ARRAY_AGG", pa.int32(), distinct=True)
    assert unique.insert(None, 2, None) == [("+I", [None, 2])]
    texts = Group("LISTAGG", pa.string())
    assert texts.insert(None) == [("+I", None)]


def test_arrays_of_rows_can_be_taken_back() -> None:
    type_ = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])
    array = Group("ARRAY_AGG", type_)
    one, two = {"a": 1, "b": ["x", None]}, {"a": 1, "b": None}
    assert array.insert(one, two, one) == [("+I", [one, two, one])]
    assert array.delete(one) == [("+U", [two, one])]


def test_a_multiset_counts_its_values() -> None:
    multiset = Group("COLLECT", pa.string())
    assert multiset.insert("b", "a", "b", None) == [("+I", [("a", 1), ("b", 2)])]
    assert multiset.delete("b", "a") == [("+U", [("b", 1)])]
    assert multiset.delete("b") == [("+U", [])]


@pytest.mark.parametrize(
    ("values", "percentage", "expected"),
    [
        ((0, 10, 10), "0.3", (1.6 - 1) * 10),
        ((10, 20, 30, 40), "0.25", 17.5),
        ((3, 1, 2), "0", 1.0),
        ((3, 1, 2), "1", 3.0),
    ],
)
def test_percentiles_lie_between_values(values: tuple[int, ...], percentage: str, expected: float) -> None:
    group = Group("PERCENTILE", pa.int32(), parameters=(percentage,))
    assert group.insert(None) == [("+I", None)]
    assert group.insert(*values) == [("+U", expected)]


def test_a_percentile_follows_values_that_go() -> None:
    group = Group("PERCENTILE", pa.float64(), parameters=("0.5",))
    assert group.insert(1.0, 2.0, 2.0, 9.0) == [("+I", 2.0)]
    assert group.delete(2.0, 1.0) == [("+U", 5.5)]
    assert group.delete(9.0) == [("+U", 2.0)]


def test_nan_is_the_greatest_number() -> None:
    greatest = Group("MAX", pa.float64())
    assert [kind for kind, _ in greatest.insert(float("nan"), 1.0)] == ["+I"]
    assert greatest.delete(float("nan")) == [("+U", 1.0)]
    least = Group("MIN", pa.float64())
    assert least.insert(float("nan"), 1.0) == [("+I", 1.0)]


def test_many_equal_values_are_told_apart() -> None:
    array = Group("LAST_VALUE", pa.int32())
    array.insert(*([7] * 500), 8, *([7] * 500))
    assert array.delete(*([7] * 999)) == []
    assert array.delete(7) == [("+U", 8)]


def test_a_group_that_empties_gives_its_last_row_and_leaves_nothing() -> None:
    schema = pa.schema([KEY, ("x", pa.int64())])
    calls = (Call("n", "COUNT(*)"), Call("least", "MIN", "x"), Call("all", "ARRAY_AGG", "x"))
    bench = Bench(AggregateOperator(("key",), calls, schema, emits_before=True), schema)
    bench.step([(RowKind.INSERT, ("A", 1)), (RowKind.INSERT, ("A", 2))])
    [before, after] = bench.step([(RowKind.DELETE, ("A", 1))])
    assert before == {"key": "A", "n": 2, "least": 1, "all": [1, 2], KIND: RowKind.UPDATE_BEFORE}
    assert after == {"key": "A", "n": 1, "least": 2, "all": [2], KIND: RowKind.UPDATE_AFTER}
    # Another value goes than the one that is there: the group is empty all the same, and its values go with it.
    [gone] = bench.step([(RowKind.DELETE, ("A", 3))])
    assert gone == {**after, KIND: RowKind.DELETE}
    assert set(bench.stored_rows().values()) == {0}


def test_retraction_of_a_group_that_is_not_there_is_ignored_and_counted() -> None:
    group = Group("SUM", pa.int64())
    assert group.delete(1, 2) == []
    assert group._bench.ignored == 2
    assert group.insert(5) == [("+I", 5)]
    assert group.delete(5) == [("-D", 5)]
