"""The result of a frame is that of its rows as a group, whatever runs it is put together from."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.accumulators import ROW_COUNT, polars_type
from millstream.aggregates.calls import OLD, Call, Input
from millstream.aggregates.registry import AGGREGATES
from millstream.kernels import frame_results
from millstream.kernels.frame_results import Frames, call_over_frames

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from millstream.aggregates.accumulators import Accumulator

ADDED = [name for name, function in AGGREGATES.items() if function.accumulator is not None]
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int32(): [None, 0, 1, -3, 2_000_000_000],
    pa.int64(): [None, 0, 1, -3, 1 << 40],
    pa.float64(): [None, 0.0, 1.5, -2.25, 1e6],
    pa.decimal128(10, 2): [None, Decimal("0.00"), Decimal("1.25"), Decimal("-99999999.99")],
    pa.string(): [None, "", "a", "b"],
    pa.bool_(): [None, True, False],
}
NUMBERS = (pa.int32(), pa.int64(), pa.float64(), pa.decimal128(10, 2))
FOR_ANY = ("COUNT", "COUNT(*)", "FIRST_VALUE", "LAST_VALUE", "MIN", "MAX")


def as_group(accumulator: Accumulator, rows: pl.DataFrame) -> Any:
    """The way in which GROUP BY comes to the result of rows."""
    call = accumulator.call
    value = pl.col("value") if call.filter is None else pl.when(pl.col("is_counted")).then(pl.col("value"))
    partial = rows.select(
        pl.len().cast(pl.Int64).alias(ROW_COUNT), *accumulator.partial(Input(value, None, pl.col("order")))
    )
    before = [pl.lit(None, polars_type(field.type)).alias(OLD + field.name) for field in accumulator.fields]
    applied = partial.with_columns(*before, pl.lit(None, pl.Int64).alias(OLD + ROW_COUNT))
    return applied.with_columns(accumulator.apply()).select(accumulator.result("").alias("result"))["result"].to_list()


@pytest.mark.parametrize("name", ADDED)
@given(chance=st.randoms(use_true_random=True), filtered=st.booleans())
def test_a_frame_is_a_group(name: str, chance: Random, *, filtered: bool) -> None:
    type_ = chance.choice(tuple(VALUES) if name in FOR_ANY else NUMBERS)
    count = chance.choice([1, 2, 7, 40])
    values = pa.array([chance.choice(VALUES[type_]) for _ in range(count)], type_)
    is_counted = pa.array([chance.choice([True, False, None]) for _ in range(count)], pa.bool_())
    rows = pl.DataFrame(pa.table({"value": values, "is_counted": is_counted, "order": pa.array(range(count))}))
    call = Call("result", name, None if name == "COUNT(*)" else "value", filter="is_counted" if filtered else None)
    if call.argument is None and filtered:
        return  # becomes COUNT of a condition
    frames = random_frames(chance, count)
    found = call_over_frames(call, type_, rows, frames).to_list()
    accumulator = AGGREGATES[name].accumulator
    assert accumulator is not None
    expected = [
        result
        for start, length in zip(frames.starts, frames.lengths, strict=True)
        for result in as_group(accumulator(call, type_), rows.slice(start, length))
    ]
    assert found == [pytest.approx(one, rel=1e-9, abs=1e-6) if isinstance(one, float) else one for one in expected]


@given(chance=st.randoms(use_true_random=True))
def test_frames_are_listed_in_parts(chance: Random) -> None:
    rows = pl.DataFrame({"value": [chance.choice([None, 1, 2, 3]) for _ in range(30)]})
    frames = random_frames(chance, 30)
    calls = [Call("n", "COUNT", "value", distinct=True), Call("all", "ARRAY_AGG", "value")]
    whole = [call_over_frames(call, pa.int64(), rows, frames).to_list() for call in calls]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_results, "_LISTED_TOGETHER", chance.choice([1, 5, 20]))
        assert [call_over_frames(call, pa.int64(), rows, frames).to_list() for call in calls] == whole
    listed = [rows["value"].slice(*frame).to_list() for frame in zip(frames.starts, frames.lengths, strict=True)]
    assert whole == [[len({*values} - {None}) for values in listed], listed]


def random_frames(chance: Random, rows: int) -> Frames:
    starts: Sequence[int] = [chance.randrange(rows) for _ in range(chance.choice([1, 5, 30]))]
    lengths = [chance.randint(1, rows - start) for start in starts]
    return Frames(np.array(starts), np.array(lengths))
