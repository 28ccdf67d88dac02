"""How fast the join kernel is by itself: `python -m benchmarks.join_kernel [ROWS]`, one bucket, no Spark.

Orders come in batches of 100,000 and meet one of 100,000 customers each. Beside it: the same join of the same rows
computed once by polars, as the time that a join of all rows needs at the least.
"""

from __future__ import annotations

import sys
from time import process_time
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.join import JoinOperator, JoinSide
from millstream.kernels.operator import LEFT, RIGHT, BatchTime
from millstream.state.memory import MemoryPieces
from millstream.state.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

_BATCH: Final = 100_000
_CUSTOMERS: Final = 100_000
_ORDERS_SCHEMA: Final = pa.schema([("id", pa.int64()), ("customer", pa.int64()), ("note", pa.string())])
_CUSTOMERS_SCHEMA: Final = pa.schema([("number", pa.int64()), ("city", pa.string())])


class Job:
    """The operator on state that persists from batch to batch."""

    def __init__(self, *, insert_only: bool) -> None:
        """`insert_only`: whether the join knows that no order is ever retracted."""
        orders_side = JoinSide(_ORDERS_SCHEMA, ("customer",), insert_only=insert_only)
        self._operator = JoinOperator(orders_side, JoinSide(_CUSTOMERS_SCHEMA, ("number",)))
        self._tables = self._operator.state_tables
        self._stores = {name: MemoryPieces() for name in self._tables}

    def step(self, inputs: dict[str, pa.Table]) -> tuple[int, float]:
        """The number of changes and the seconds they took; hashes are computed before."""
        hashed = {name: _add_hashes(rows, self._operator.hashes(name)) for name, rows in inputs.items()}
        begin = process_time()
        parts = {part: rows for name in hashed for part, rows in self._operator.combine(name, hashed[name]).items()}
        result = self._operator.open(self._open).step(parts, BatchTime())
        changes = sum(table.num_rows for table in result.changes)
        return changes, process_time() - begin

    def _open(self, name: str) -> StateTable:
        spec = self._tables[name]
        return StateTable(spec.keys, spec.values, self._stores[name], summed=spec.summed)


def _add_hashes(batch: pa.Table, hashes: Mapping[str, tuple[str, ...]]) -> pa.Table:
    rows = pl.DataFrame(batch)
    for column, columns in hashes.items():
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


def measure(rows: int, *, insert_only: bool) -> float:
    batches = [orders(first) for first in range(0, rows, _BATCH)]
    known = customers(0, range(_CUSTOMERS))
    job = Job(insert_only=insert_only)
    job.step({RIGHT: known})
    steps = [job.step({LEFT: batch}) for batch in batches]
    seconds = sum(seconds for _, seconds in steps[1:])
    changed = range(1000)
    update = [_add_kind(customers(0, changed), RowKind.UPDATE_BEFORE)]
    update += [_add_kind(customers(1, changed), RowKind.UPDATE_AFTER)]
    changes, update_seconds = job.step({RIGHT: pa.concat_tables(update)})
    begin = process_time()
    everything = pl.DataFrame(pa.concat_tables(batches[1:]))
    assert everything.join(pl.DataFrame(known), left_on="customer", right_on="number").height == rows - _BATCH
    at_once = process_time() - begin
    assert all(found == _BATCH for found, _ in steps)
    rate, ratio = (rows - _BATCH) / seconds, seconds / at_once
    how = "appended" if insert_only else "counted"
    print(f"orders, {how:17} {rate:>12,.0f} rows/s, {ratio:.1f} times as long as polars needs at once")
    print(f"update of 1,000 customers {changes / update_seconds:>12,.0f} changes/s, {changes:,} changes")
    return seconds


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    print(f"{rows:,} orders in batches of {_BATCH:,}, one bucket")
    counted, appended = (measure(rows, insert_only=insert_only) for insert_only in (False, True))
    print(f"ratio {counted / appended:.2f}")


if __name__ == "__main__":
    main()
