"""Aggregate calls of every kind, changelogs in batches, and the run of both against the oracle."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from millstream.aggregates.registry import AGGREGATES
from millstream.changelog import RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from tests.unit.kernels.bench import Bench, Change, Reader, Row
from tests.unit.kernels.group_oracle import GroupOracle

SCHEMA = pa.schema(
    [
        ("region", pa.string()),
        ("shift", pa.int32()),
        ("user", pa.int64()),
        ("small", pa.int8()),
        ("amount", pa.decimal128(12, 2)),
        ("wide", pa.decimal128(38, 4)),
        ("weight", pa.float64()),
        ("word", pa.string()),
        ("keen", pa.bool_()),
    ]
)
GHOST = "nowhere"
NUMBERS = ("user", "small", "amount", "wide", "weight")
ANY = (*NUMBERS, "word")
TAKES = {
    "COUNT": ANY,
    "MIN": (*ANY, "keen"),
    "MAX": ANY,
    "FIRST_VALUE": ANY,
    "LAST_VALUE": ANY,
    "ARRAY_AGG": ANY,
    "COLLECT": ANY,
    "LISTAGG": ("word",),
}
PARAMETERS = {"LISTAGG": ("; ",), "PERCENTILE": ("0.3",)}


def every_call() -> list[Call]:
    calls = [Call("", "COUNT(*)", filter=condition) for condition in (None, "keen")]
    for function in AGGREGATES:
        if function != "COUNT(*)":
            for argument, distinct, condition in product(TAKES.get(function, NUMBERS), (False, True), (None, "keen")):
                calls.append(Call("", function, argument, distinct, condition, PARAMETERS.get(function, ())))
    return calls


rows = st.tuples(
    st.sampled_from(["north", "north", "north", "wüste", "", None]),
    st.sampled_from([0, 0, 0, 1, None]),
    st.sampled_from([0, 1, 2, -7, 10**12, 2**62, -(2**63), None]),
    st.sampled_from([0, 1, 5, 99, -128, None]),
    st.sampled_from([Decimal("0.10"), Decimal("-2.00"), Decimal("99.99"), Decimal("9999999999.99"), None]),
    st.sampled_from([Decimal("0.0001"), Decimal("-7.5000"), Decimal("123456789012345678901234.5678"), None]),
    st.sampled_from([0.0, 1.5, -2.25, 1024.0, None]),
    st.sampled_from(["", "a", "b", "é", ";", None]),
    st.sampled_from([True, True, False, None]),
)
kinds = st.sampled_from(["insert", "insert", "insert", "insert", "retract", "retract", "update", "ghost", "empty"])
cuts = st.sampled_from([False] * 6 + [True])
steps = st.lists(st.tuples(kinds, rows, st.integers(0, 1000), cuts), min_size=4, max_size=12)


inserts = st.lists(st.tuples(st.just("insert"), rows, st.just(0), cuts), min_size=2, max_size=12)
Step = tuple[str, Row, int, bool]


def batches(drawn: list[Step]) -> list[list[Change]]:
    """A changelog in batches: updates that move rows to other groups, groups that empty, deletes of nothing."""
    live: list[Row] = []
    made: list[list[Change]] = [[]]
    for kind, row, choice, cut in drawn:
        if kind == "ghost":
            made[-1].append((RowKind.DELETE, (GHOST, *row[1:])))
        elif kind == "insert" or not live:
            live.append(row)
            made[-1].append((RowKind.INSERT, row))
        elif kind == "update":
            made[-1].append((RowKind.UPDATE_BEFORE, live.pop(choice % len(live))))
            made[-1].append((RowKind.UPDATE_AFTER, row))
            live.append(row)
        else:
            region = live[choice % len(live)][0]
            chosen = [old for old in live if old[0] == region] if kind == "empty" else [live[choice % len(live)]]
            for old in chosen:
                live.remove(old)
                made[-1].append((RowKind.DELETE, old))
        if cut:
            made.append([])
    return [batch for batch in made if batch]


def follow(groups: dict[Row, GroupOracle], batch: list[Change], spec: AggregateOperator) -> None:
    for kind, row in batch:
        record = dict(zip(SCHEMA.names, row, strict=True))
        key = tuple(record[name] for name in spec.keys)
        if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            groups.setdefault(key, GroupOracle(spec.calls)).insert(record)
        elif key in groups:
            groups[key].retract(record)
            if not groups[key].rows:
                del groups[key]


def close(left: Any, right: Any) -> bool:
    return left == right or (isinstance(left, float) and left == pytest.approx(right, rel=1e-9, abs=1e-6))


def assert_same(folded: dict[Row, Row], groups: dict[Row, GroupOracle]) -> None:
    types = {field.name: field.type for field in SCHEMA}
    expected = {key: (*key, *group.results(types)) for key, group in groups.items()}
    assert folded.keys() == expected.keys()
    for key, row in folded.items():
        assert all(close(*pair) for pair in zip(row, expected[key], strict=True)), (row, expected[key])


def operator(calls: list[Call], keys: tuple[str, ...], **options: bool) -> AggregateOperator:
    numbered = (Call(f"c{n}", c.function, c.argument, c.distinct, c.filter, c.parameters) for n, c in enumerate(calls))
    return AggregateOperator(keys, tuple(numbered), SCHEMA, **options)


def run(spec: AggregateOperator, made: list[list[Change]], *, colliding: bool, pieces: int) -> None:
    bench = Bench(spec, SCHEMA, colliding=colliding)
    reader = Reader(spec.keys, sees_before=spec.emits_before)
    groups: dict[Row, GroupOracle] = {}
    for batch in made:
        reader.read(bench.step(batch, pieces=pieces))
        follow(groups, batch, spec)
        assert_same(reader.table, groups)
    ghosts = sum(row[0] == GHOST for batch in made for _, row in batch)
    if "region" in spec.keys:
        assert bench.ignored == ghosts
