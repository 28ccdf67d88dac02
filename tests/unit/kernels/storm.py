"""How much memory one changed row takes that very many rows follow, in a process that has done nothing else.

    python -m tests.unit.kernels.storm FOLDER LEFT fill 500000
    python -m tests.unit.kernels.storm FOLDER LEFT change

The state is on the disk, as that of a worker.
"""

from __future__ import annotations

import json
import sys
import threading
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.join_kinds import JoinKind
from millstream.kernels.join import JoinOperator, JoinSide, PairCondition
from millstream.kernels.operator import LEFT, RIGHT, BatchTime, Parts
from millstream.kernels.row_counts import ROW_HASH
from millstream.state.bucket import BucketState
from millstream.state.state_table import HASH, StateTable
from millstream.state.storage import LocalStorage

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEFT: Final = pa.schema([("key", pa.int64()), ("id", pa.int64()), ("text", pa.string())])
_RIGHT: Final = pa.schema([("other", pa.int64()), ("name", pa.string())])
_BATCH: Final = 100_000
_KEY_HASH: Final = 0x1234_5678_0000_0000
_LOOK_SECONDS: Final = 0.002


class Job:
    """One bucket of a join, whose rows all have the same key."""

    def __init__(self, operator: JoinOperator, folder: Path) -> None:
        self._operator = operator
        self._folder = folder
        (folder / "join-1").mkdir(exist_ok=True)
        self._batch = 1 + max((int(file.stem) for file in folder.glob("join-1/0/*.json")), default=-1)

    def run(self, name: str, rows: pa.Table, kinds: list[RowKind]) -> Iterator[int]:
        """The rows of each table of changes."""
        state = BucketState(LocalStorage(self._folder), "join-1/0", self._batch, retained=10)
        specs = self._operator.state_tables

        def open_table(table: str) -> StateTable:
            return StateTable(specs[table].keys, specs[table].values, state.table(table))

        result = self._operator.open(open_table).step(self._combine(name, rows, kinds), BatchTime())
        yield from (changes.num_rows for changes in result.changes)
        state.commit()
        self._batch += 1

    def _combine(self, name: str, rows: pa.Table, kinds: list[RowKind]) -> Parts:
        schema = self._operator.side(name).schema
        hashes = pa.array(np.random.default_rng(self._batch).integers(0, 2**62, rows.num_rows))
        texts = rows.column(schema.names[-1]).to_pylist()
        by_text = pa.array([zlib.crc32(str(text).encode()) for text in texts]) if name == RIGHT else hashes
        keyed = rows.append_column(HASH, pa.array(np.full(rows.num_rows, _KEY_HASH)))
        return self._operator.combine(
            name, keyed.append_column(ROW_HASH, by_text).append_column(KIND, pa.array(map(int, kinds), pa.int8()))
        )


class PeakMemory:
    """The most that the process holds for itself while it is open, beside mapped files, in MB more than before."""

    def __enter__(self) -> Self:
        self._before = self._most = _held()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def megabytes(self) -> int:
        return (self._most - self._before) // 1024

    def _look(self) -> None:
        while not self._is_over.wait(_LOOK_SECONDS):
            self._most = max(self._most, _held())


def _held() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def _operator(kind: JoinKind, *, has_condition: bool) -> JoinOperator:
    condition = PairCondition(("id", "other"), lambda pairs: pairs) if has_condition else None
    right = _RIGHT if kind.gives_pairs else _RIGHT.remove(1)
    return JoinOperator(JoinSide(_LEFT, ("key",)), JoinSide(right, ("other",)), kind=kind, condition=condition)


def _followers(first: int, count: int) -> pa.Table:
    ids = np.arange(first, first + count)
    texts = [f"row {id_} of those that follow" for id_ in ids]
    return pa.table([np.full(count, 7), ids, texts], schema=_LEFT)


def _leader(operator: JoinOperator, *names: str) -> pa.Table:
    schema = operator.right.schema
    return pa.table([[7] * len(names), names][: len(schema)], schema=schema)


def fill(folder: Path, operator: JoinOperator, rows: int) -> None:
    job = Job(operator, folder)
    for first in range(0, rows, _BATCH):
        count = min(_BATCH, rows - first)
        sum(job.run(LEFT, _followers(first, count), [RowKind.INSERT] * count))
    sum(job.run(RIGHT, _leader(operator, "before"), [RowKind.INSERT]))


def change(folder: Path, operator: JoinOperator) -> dict[str, int]:
    """Of a semi or anti join, the row is deleted: these do not see its columns."""
    job = Job(operator, folder)
    gone, come = _leader(operator, "before"), _leader(operator, "before", "after")
    with PeakMemory() as memory:
        if operator.kind.gives_pairs:
            tables = list(job.run(RIGHT, come, [RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER]))
        else:
            tables = list(job.run(RIGHT, gone, [RowKind.DELETE]))
    return {"changes": sum(tables), "largest": max(tables), "megabytes": memory.megabytes}


if __name__ == "__main__":
    place, name, what, *rest = sys.argv[1:]
    kind, _, condition = name.partition("-")
    joined = _operator(JoinKind[kind], has_condition=bool(condition))
    if what == "fill":
        fill(Path(place), joined, int(rest[0]))
    else:
        print(json.dumps(change(Path(place), joined)))
