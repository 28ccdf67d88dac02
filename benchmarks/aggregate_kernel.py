"""The speed of the aggregate kernel alone: `python -m benchmarks.aggregate_kernel [ROWS]`, one bucket, no Spark."""

from __future__ import annotations

import sys
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.operator import ROWS, BatchTime
from millstream.state.memory import MemoryPieces
from millstream.state.state_table import StateTable

if TYPE_CHECKING:
    from millstream.kernels.operator import Operator

_BATCH: Final = 100_000
_SCHEMA: Final = pa.schema([("region", pa.string()), ("user", pa.int64()), ("price", pa.int64()), (KIND, pa.int8())])
_COUNTS: Final = (Call("pv", "COUNT(*)"), Call("uv", "COUNT", "user", distinct=True))
_EXTREMES: Final = (Call("least", "MIN", "price"), Call("greatest", "MAX", "price"))


def page_views(rows: int, regions: int) -> list[pa.Table]:
    random = np.random.default_rng(7)
    return [
        pa.table(
            {
                "region": pa.array([f"region_{i}" for i in random.integers(0, regions, _BATCH)]),
                "user": pa.array(random.integers(1, rows // 2, _BATCH)),
                "price": pa.array(random.integers(0, 1_000_000, _BATCH)),
                KIND: pa.array(np.full(_BATCH, RowKind.INSERT, np.int8)),
            }
        )
        for _ in range(rows // _BATCH)
    ]


def add_retractions(batches: list[pa.Table]) -> list[pa.Table]:
    """Each batch retracts every second row of the previous one."""
    mixed = batches[:1]
    for before, batch in pairwise(batches):
        gone = before.take(pa.array(np.arange(0, _BATCH, 2)))
        kinds = pa.array(np.full(gone.num_rows, RowKind.DELETE, np.int8))
        mixed.append(pa.concat_tables([gone.set_column(3, KIND, kinds), batch]))
    return mixed


def rate(operator: Operator, batches: list[pa.Table]) -> float:
    """Rows per second, from the second batch on."""
    hashed = [_add_hashes(batch, operator) for batch in batches]
    tables = operator.state_tables
    stores = {name: MemoryPieces() for name in tables}

    def open_table(name: str) -> StateTable:
        return StateTable(tables[name].keys, tables[name].values, stores[name])

    operator.open(open_table).step(operator.combine(ROWS, hashed[0]), BatchTime())
    begin = perf_counter()
    for batch in hashed[1:]:
        operator.open(open_table).step(operator.combine(ROWS, batch), BatchTime())
    seconds = perf_counter() - begin
    return sum(len(batch) for batch in hashed[1:]) / seconds


def _add_hashes(batch: pa.Table, operator: Operator) -> pa.Table:
    rows = pl.DataFrame(batch)
    for name, columns in operator.hashes(ROWS).items():
        rows = rows.with_columns(pl.struct(columns).hash(seed=7).reinterpret(signed=True).alias(name))
    return rows.to_arrow()


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    few, many = page_views(rows, 10), page_views(rows, 20_000)
    counts = AggregateOperator(("region",), _COUNTS, _SCHEMA)
    extremes = AggregateOperator(("region",), _EXTREMES, _SCHEMA)
    growing = AggregateOperator(("region",), _EXTREMES, _SCHEMA, insert_only=True)
    print(f"{rows:,} rows in batches of {_BATCH:,}, one bucket")
    print(f"COUNT(*), COUNT(DISTINCT), 10 groups        {rate(counts, few):>12,.0f} rows/s")
    print(f"COUNT(*), COUNT(DISTINCT), 20,000 groups    {rate(counts, many):>12,.0f} rows/s")
    print(f"MIN, MAX, inserts only, 20,000 groups       {rate(growing, many):>12,.0f} rows/s")
    print(f"MIN, MAX, retractions, 10 groups            {rate(extremes, add_retractions(few)):>12,.0f} rows/s")
    print(f"MIN, MAX, retractions, 20,000 groups        {rate(extremes, add_retractions(many)):>12,.0f} rows/s")


if __name__ == "__main__":
    main()
