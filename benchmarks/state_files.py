"""What a batch costs when there is more state: `python -m benchmarks.state_files [KEYS …]`, one process, no Spark.

COUNT(*) and COUNT(DISTINCT) per key on files, filled with each number of keys, then batches of 10,000 rows of which
half belong to keys that are there. Processor time, which other processes affect less than the time that passes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Final

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.hashing import hash_rows
from millstream.kernels.operator import ROWS, BatchTime
from millstream.spark.packets import pack, unpack_by_part
from millstream.state.bucket import BucketState
from millstream.state.job_state import measure
from millstream.state.state_table import StateTable
from millstream.state.storage import LocalStorage

_KEYS: Final = (100_000, 1_000_000, 10_000_000)
_FILL_BATCH: Final = 500_000
_BATCH: Final = 10_000
_MEASURED: Final = 30
_BUCKETS: Final = 8
_NAME: Final = "aggregate-1"
_SCHEMA: Final = pa.schema([("key", pa.int64()), ("user", pa.int64())])
_OPERATOR: Final = AggregateOperator(
    ("key",), (Call("pv", "COUNT(*)"), Call("uv", "COUNT", "user", distinct=True)), _SCHEMA, insert_only=True
)


class Job:
    def __init__(self, root: Path) -> None:
        (root / _NAME).mkdir(parents=True)
        self.storage = LocalStorage(root)
        self._batch = 0

    def step(self, keys: np.ndarray) -> float:
        """The processor seconds of a batch."""
        rows = pa.table({"key": keys, "user": keys * 7}, schema=_SCHEMA)
        start = process_time()
        for name, columns in _OPERATOR.hashes(ROWS).items():
            rows = rows.append_column(name, hash_rows([rows.column(column) for column in columns], rows.num_rows))
        packets: dict[int, list[tuple[str, bytes]]] = {}
        for packet in pack(_OPERATOR.combine(ROWS, rows), _BUCKETS).to_pylist():
            packets.setdefault(packet["bucket"], []).append((packet["part"], packet["payload"]))
        for bucket, payloads in packets.items():
            self._step_bucket(BucketState(self.storage, f"{_NAME}/{bucket}", self._batch, retained=10), payloads)
        self._batch += 1
        return process_time() - start

    def _step_bucket(self, state: BucketState, payloads: list[tuple[str, bytes]]) -> None:
        def open_table(name: str) -> StateTable:
            spec = _OPERATOR.state_tables[name]
            return StateTable(spec.keys, spec.values, state.table(name))

        for _ in _OPERATOR.open(open_table).step(unpack_by_part(payloads), BatchTime()).changes:
            pass
        state.commit()


def report(keys: int, folder: Path) -> None:
    job, random = Job(folder), np.random.default_rng(7)
    order = random.permutation(keys)
    filled = sum(job.step(order[start : start + _FILL_BATCH]) for start in range(0, keys, _FILL_BATCH))
    seconds = [job.step(random.integers(0, 2 * keys, _BATCH)) for _ in range(_MEASURED)]
    tables = measure(job.storage)
    print(
        f"{keys:>12,} keys: filled at {filled / keys * 1e6:.2f} s per million, then {np.mean(seconds) * 1000:.0f} ms"
        f" per batch (longest {max(seconds) * 1000:.0f} ms);"
        f" {sum(table.bytes for table in tables) / 1e6:,.0f} MB in {sum(table.pieces for table in tables)} pieces",
        flush=True,
    )


def main() -> None:
    for keys in [int(argument) for argument in sys.argv[1:]] or _KEYS:
        with tempfile.TemporaryDirectory() as name:
            report(keys, Path(name) / "state")


if __name__ == "__main__":
    main()
