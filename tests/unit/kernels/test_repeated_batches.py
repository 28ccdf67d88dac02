"""A batch that is done again, in other parts and on files that an attempt before it left, has the same result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.aggregate import Call
from millstream.kernels.operator import ROWS, BatchTime
from millstream.spark.packets import pack, unpack_by_part
from millstream.state.bucket import BucketState
from millstream.state.state_table import StateTable
from millstream.state.storage import LocalStorage
from tests.unit.kernels.aggregate_cases import SCHEMA, assert_same, batches, follow, operator, rows
from tests.unit.kernels.bench import Bench, Reader
from tests.unit.tiny_segments import tiny_segments

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from millstream.kernels.aggregate import AggregateOperator
    from tests.unit.kernels.aggregate_cases import Step
    from tests.unit.kernels.bench import Change, Row
    from tests.unit.kernels.group_oracle import GroupOracle

CALLS = [
    Call("", "COUNT", "word", distinct=True),
    Call("", "COUNT", "wide", distinct=True, filter="keen"),
    Call("", "COUNT", "wide", distinct=True),
    Call("", "LAST_VALUE", "small"),
]
KINDS = st.sampled_from(["insert", "insert", "insert", "retract", "update", "empty"])
STEPS = st.lists(st.tuples(KINDS, rows, st.integers(0, 1000), st.booleans()), min_size=3, max_size=6)
BUCKETS = 1


class JobOnFiles:
    def __init__(self, spec: AggregateOperator, root: Path, *, colliding: bool) -> None:
        self._spec = spec
        self._storage = LocalStorage(root)
        self._rows = Bench(spec, SCHEMA, colliding=colliding)
        (root / "aggregate-1").mkdir()

    def attempt(self, number: int, batch: list[Change], pieces: int, *, commits: bool) -> list[dict[str, Any]]:
        table = self._rows._table(ROWS, batch)
        size = -(-table.num_rows // pieces)
        packets: dict[int, list[tuple[str, bytes]]] = {}
        for start in range(0, table.num_rows, size):
            for row in pack(self._spec.combine(ROWS, table.slice(start, size)), BUCKETS).to_pylist():
                packets.setdefault(row["bucket"], []).append((row["part"], row["payload"]))
        changes = []
        for bucket, payloads in packets.items():
            state = BucketState(self._storage, f"aggregate-1/{bucket}", number, retained=2)

            def open_table(name: str, state: BucketState = state) -> StateTable:
                spec = self._spec.state_tables[name]
                return StateTable(spec.keys, spec.values, state.table(name), summed=spec.summed, piece_bytes=200)

            result = self._spec.open(open_table).step(unpack_by_part(payloads), BatchTime())
            changes += [change for table in result.changes for change in table.to_pylist()]
            if commits:
                state.commit()
        return sorted(changes, key=repr)


ATTEMPTS = st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=1)
"""In how many parts, and whether the attempt got as far as its manifest."""


@given(drawn=STEPS, attempts=st.lists(ATTEMPTS, min_size=6, max_size=6), colliding=st.booleans())
def test_every_attempt_has_the_same_result(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[Step],
    attempts: list[list[tuple[int, bool]]],
    *,
    colliding: bool,
) -> None:
    spec = operator(CALLS, ("region",))
    job = JobOnFiles(spec, tmp_path_factory.mktemp("state"), colliding=colliding)
    reader = Reader(spec.keys, sees_before=False)
    groups: dict[Row, GroupOracle] = {}
    with tiny_segments():
        for number, batch in enumerate(batches(drawn)):
            before = [job.attempt(number, batch, pieces, commits=commits) for pieces, commits in attempts[number]]
            changes = job.attempt(number, batch, 1, commits=True)
            assert all(attempt == changes for attempt in before)
            reader.read(changes)
            follow(groups, batch, spec)
            assert_same(reader.table, groups)
