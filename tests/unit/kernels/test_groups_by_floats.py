"""Groups by a float: NaN is one group, and so is NULL, whatever is kept of them."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from millstream.changelog import RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from tests.unit.kernels.bench import Bench

KEYS = [float("nan"), None, 1.5]


@pytest.mark.parametrize("keys", [("k",), ("k", "j")])
@pytest.mark.parametrize("key", KEYS)
def test_the_next_value_is_found_when_the_least_is_retracted(keys: tuple[str, ...], key: float | None) -> None:
    schema = pa.schema([*((name, pa.float64()) for name in keys), ("x", pa.int64())])
    bench = Bench(AggregateOperator(keys, (Call("least", "MIN", "x"),), schema), schema)
    rows = [(*(key for _ in keys), value) for value in (1, 2)]
    bench.step([(RowKind.INSERT, row) for row in rows])
    [change] = bench.step([(RowKind.DELETE, rows[0])])
    assert change["least"] == 2
    assert change["k"] == key or (key is not None and math.isnan(key) and math.isnan(change["k"]))
