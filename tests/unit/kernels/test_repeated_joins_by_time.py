"""A batch of a join by event time that is done again, in other parts and on files, has the same result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import RowKind
from millstream.kernels.interval_join import TimeBounds
from millstream.kernels.operator import LEFT, MAX_WATERMARK, RIGHT, BatchTime
from millstream.spark.packets import pack, unpack_by_part
from millstream.state.bucket import BucketState
from millstream.state.state_table import StateTable
from millstream.state.storage import LocalStorage
from tests.unit.kernels import test_interval_join, test_temporal_join
from tests.unit.kernels.bench import Bench
from tests.unit.tiny_segments import tiny_segments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pytest

    from millstream.kernels.interval_join import IntervalJoinOperator
    from millstream.kernels.temporal_join import TemporalJoinOperator
    from tests.unit.kernels.bench import Change

OPERATORS: dict[str, IntervalJoinOperator | TemporalJoinOperator] = {
    **{
        str(kind): test_interval_join.operator(kind, (1,), TimeBounds(-3000, 1000)) for kind in test_interval_join.KINDS
    },
    "as of a time": test_temporal_join.operator(1, keeps_left=True),
}
ATTEMPTS = st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=2)
"""In how many parts, and whether the attempt got as far as its manifest."""


class JobOnFiles:
    def __init__(self, spec: IntervalJoinOperator | TemporalJoinOperator, root: Path) -> None:
        self._spec = spec
        self._storage = LocalStorage(root)
        self._rows = Bench(spec, test_interval_join.SIDES)
        (root / "join-1").mkdir()

    def attempt(
        self, number: int, batches: Mapping[str, Sequence[Change]], time: BatchTime, pieces: int, *, commits: bool
    ) -> list[Any]:
        packets: list[tuple[str, bytes]] = []
        for name, batch in batches.items():
            table = self._rows._table(name, batch)
            size = max(-(-table.num_rows // pieces), 1)
            for start in range(0, table.num_rows, size):
                packed = pack(self._spec.combine(name, table.slice(start, size)), 1)
                packets += [(row["part"], row["payload"]) for row in packed.to_pylist()]
        state = BucketState(self._storage, "join-1/0", number, retained=2)

        def open_table(name: str) -> StateTable:
            spec = self._spec.state_tables[name]
            return StateTable(spec.keys, spec.values, state.table(name), piece_bytes=200)

        result = self._spec.open(open_table).step(unpack_by_part(packets), time)
        changes = [change for table in result.changes for change in table.to_pylist()]
        if commits:
            state.commit()
        return [*sorted(changes, key=repr), result.late]


@given(
    name=st.sampled_from(list(OPERATORS)),
    drawn=test_temporal_join.steps,
    attempts=st.lists(ATTEMPTS, min_size=8, max_size=8),
)
def test_every_attempt_has_the_same_result(
    tmp_path_factory: pytest.TempPathFactory, name: str, drawn: list[Any], attempts: list[list[tuple[int, bool]]]
) -> None:
    spec = OPERATORS[name]
    jobs = [JobOnFiles(spec, tmp_path_factory.mktemp("state")) for _ in range(2)]
    before: int | None = None
    with tiny_segments():
        for number, (left, right, watermark, pieces) in enumerate([*drawn, ([], [], MAX_WATERMARK, 1)]):
            after = max((time for time in (before, watermark) if time is not None), default=None)
            kinds = name == "as of a time"
            batches = {
                LEFT: [(RowKind.INSERT, row) for row in left],
                RIGHT: right if kinds else [(RowKind.INSERT, row) for _, row in right],
            }
            time = BatchTime(0, after, before)
            once = jobs[0].attempt(number, batches, time, pieces, commits=True)
            for parts, commits in attempts[number]:
                assert jobs[1].attempt(number, batches, time, parts, commits=commits) == once
            assert jobs[1].attempt(number, batches, time, pieces, commits=True) == once
            before = after
