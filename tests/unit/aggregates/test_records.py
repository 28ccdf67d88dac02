"""What the records of aggregate functions say, and that it goes together."""

from __future__ import annotations

import subprocess
import sys

import pytest

from millstream.aggregates.record import AggregateFunction, EntryKind, KeepsValues
from millstream.aggregates.registry import AGGREGATES, aggregate_function
from millstream.plan.functions.registry import FUNCTIONS

EVERY = pytest.mark.parametrize("function", AGGREGATES.values(), ids=lambda function: function.name)
STATE = {"argument": "amount INT", "distinct": False, "condition": None, "parameters": ()}


def test_declarations_load_no_library_to_compute_with() -> None:
    code = "import sys, millstream.aggregates.registry; print([m for m in ('polars', 'pyarrow') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


@EVERY
def test_a_result_has_one_origin(function: AggregateFunction) -> None:
    """It is added up, or it is one of the values, or it is read from all of them."""
    match function.keeps_values:
        case KeepsValues.NEVER:
            assert function.accumulator is not None
            assert (function.leader, function.reads) == (None, None)
        case KeepsValues.FOR_RETRACTIONS:
            assert function.accumulator is not None
            assert function.leader is not None
        case KeepsValues.ALWAYS:
            assert function.reads is not None
            assert (function.accumulator, function.leader) == (None, None)


@EVERY
def test_a_function_is_declared_by_each_of_its_names(function: AggregateFunction) -> None:
    names = {function.name, *function.synonyms} if function.signatures else set()
    assert {declared.name for declared in function.declarations} == names
    assert all(FUNCTIONS[name].is_aggregate and aggregate_function(name) is function for name in names)


@pytest.mark.parametrize(
    ("name", "distinct", "changes", "inserts"),
    [
        ("SUM", False, None, None),
        ("SUM", True, EntryKind.MULTISET, EntryKind.SET),
        ("MIN", False, EntryKind.MULTISET, None),
        ("MIN", True, EntryKind.MULTISET, None),
        ("LAST_VALUE", False, EntryKind.ARRIVALS, None),
        ("LAST_VALUE", True, EntryKind.PRESENCES, EntryKind.PRESENCES),
        ("ARRAY_AGG", False, EntryKind.ARRIVALS, EntryKind.ARRIVALS),
        ("COLLECT", False, EntryKind.MULTISET, EntryKind.MULTISET),
    ],
)
def test_values_are_stored_where_a_result_needs_them(
    name: str, changes: EntryKind | None, inserts: EntryKind | None, *, distinct: bool
) -> None:
    function = aggregate_function(name)
    assert function.entry_kind(distinct=distinct, insert_only=False) is changes
    assert function.entry_kind(distinct=distinct, insert_only=True) is inserts


@EVERY
@pytest.mark.parametrize(
    "other", [{"argument": "amount BIGINT"}, {"distinct": True}, {"condition": "amount > 1"}], ids=str
)
def test_another_argument_or_filter_is_another_state(function: AggregateFunction, other: dict[str, object]) -> None:
    assert function.state_of(**(STATE | other)) != function.state_of(**STATE)  # type: ignore[arg-type]


def test_the_state_of_a_call_is_named_part_by_part() -> None:
    state = aggregate_function("LISTAGG").state_of(
        "note STRING", distinct=True, condition="amount > 1", parameters=(";",), insert_only=False
    )
    assert state == (
        ("function", "LISTAGG"),
        ("distinct", "DISTINCT"),
        ("argument", "note STRING"),
        ("filter", "amount > 1"),
        ("values", "presences"),
    )


@pytest.mark.parametrize(("name", "one", "other"), [("LISTAGG", ",", ";"), ("PERCENTILE", "0.5", "0.9")])
def test_a_constant_that_only_the_result_needs_is_no_state(name: str, one: str, other: str) -> None:
    function = aggregate_function(name)
    assert function.state_of("x", parameters=(one,)) == function.state_of("x", parameters=(other,))


def test_constants_that_are_left_out_have_defaults() -> None:
    assert aggregate_function("LISTAGG").complete(()) == (",",)
    assert aggregate_function("LISTAGG").complete((";",)) == (";",)
    assert aggregate_function("SUM").complete(()) == ()
