"""How fast the join kernel is by itself: `python -m benchmarks.join_kernel [ROWS]`, one bucket, no Spark.

Orders come in batches of 100,000 and meet one of 100,000 customers each. Beside it: the same join of the same rows
computed once by polars, as the time that a join of all rows needs at the least.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.join import JoinOperator, JoinSide
from millstream.kernels.operator import LEFT, RIGHT, BatchTime
from millstream.state.memory import MemoryPieces
from millstream.state.state_table import StateTable

_BATCH: Final = 100_000
_CUSTOMERS: Final = 100_000
_ORDERS_SCHEMA: Final = pa.schema([("id", pa.int64()), ("customer", pa.int64()), ("note", pa.string())])
_CUSTOMERS_SCHEMA: Final = pa.schema([("number", pa.int64()), ("city", pa.string())])
_OPERATOR: Final = JoinOperator(JoinSide(_ORDERS_SCHEMA, ("customer",)), JoinSide(_CUSTOMERS_SCHEMA, ("number",)))


class Job:
    """The operator on state that persists from batch to batch."""

    def __init__(self) -> None:
        self._tables = _OPERATOR.state_tables
        self._stores = {name: MemoryPieces() for name in self._tables}

    def step(self, inputs: dict[str, pa.Table]) -> tuple[int, float]:
        """The number of changes and the seconds they took; hashes are computed before."""
        hashed = {name: _add_hashes(rows, name) for name, rows in inputs.items()}
        begin = perf_counter()
        parts = {part: rows for name in hashed for part, rows in _OPERATOR.combine(name, hashed[name]).items()}
        result = _OPERATOR.open(self._open).step(parts, BatchTime())
        changes = sum(table.num_rows for table in result.changes)
        return changes, perf_counter() - begin

    def _open(self, name: str) -> StateTable:
        return StateTable(self._tables[name].keys, self._tables[name].values, self._stores[name])


def _add_hashes(batch: pa.Table, name: str) -> pa.Table:
    rows = pl.DataFrame(batch)
    for column, columns in _OPERATOR.hashes(name).items():
        key = pl.struct(pl.col(each).alias(str(place)) for place, each in enumerate(columns))
        rows = rows.with_columns(key.hash(seed=7).reinterpret(signed=True).alias(column))
    return rows.to_arrow()


def orders(first: int) -> pa.Table:
    ids = np.arange(first, first + _BATCH)
    customers = np.random.default_rng(first).integers(0, _CUSTOMERS, _BATCH)
    return pa.table([ids, customers, [f"a note of some length {number}" for number in ids]], schema=_ORDERS_SCHEMA)


def customers(version: int, numbers: range) -> pa.Table:
    return pa.table([list(numbers), [f"city {number % 100} {version}" for number in numbers]], schema=_CUSTOMERS_SCHEMA)


def _add_kind(rows: pa.Table, kind: RowKind) -> pa.Table:
    return rows.append_column(KIND, pa.array(np.full(rows.num_rows, kind, np.int8)))


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    batches = [orders(first) for first in range(0, rows, _BATCH)]
    known = customers(0, range(_CUSTOMERS))
    job = Job()
    job.step({RIGHT: known})
    steps = [job.step({LEFT: batch}) for batch in batches]
    seconds = sum(seconds for _, seconds in steps[1:])
    changed = range(1000)
    update = [_add_kind(customers(0, changed), RowKind.UPDATE_BEFORE)]
    update += [_add_kind(customers(1, changed), RowKind.UPDATE_AFTER)]
    changes, update_seconds = job.step({RIGHT: pa.concat_tables(update)})
    begin = perf_counter()
    everything = pl.DataFrame(pa.concat_tables(batches[1:]))
    assert everything.join(pl.DataFrame(known), left_on="customer", right_on="number").height == rows - _BATCH
    at_once = perf_counter() - begin
    assert all(found == _BATCH for found, _ in steps)
    print(f"{rows:,} orders in batches of {_BATCH:,}, one bucket")
    rate, ratio = (rows - _BATCH) / seconds, seconds / at_once
    print(f"orders                    {rate:>12,.0f} rows/s, {ratio:.1f} times as long as polars needs at once")
    print(f"update of 1,000 customers {changes / update_seconds:>12,.0f} changes/s, {changes:,} changes")


if __name__ == "__main__":
    main()
