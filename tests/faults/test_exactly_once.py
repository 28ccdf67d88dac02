"""Whatever a job is doing when it is killed: started again, each message is there once."""

from __future__ import annotations

from typing import Final

import pytest

from millstream.failpoints import FAILPOINTS
from tests.faults.crashes import SHAPES, Bench, Crash, Found

TIMES: Final = (1, 3)
CRASHES: Final = tuple(
    crash
    for shape in SHAPES
    for failpoint in FAILPOINTS
    for time in TIMES
    if (crash := Crash(shape, failpoint, time)).is_reachable
)
IN_EVERY_RUN: Final = (
    "append-before-offsets-1",
    "append-after-commit-1",
    "set-after-commit-1",
    "upsert-after-commit-3",
    "changes-to-changes-after-state-3",
)


@pytest.fixture(scope="module")
def bench(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(broker, tmp_path_factory.mktemp("crashes"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "crash",
    [
        pytest.param(crash, id=crash.name, marks=() if crash.name in IN_EVERY_RUN else pytest.mark.faults)
        for crash in CRASHES
    ],
)
def test_killed_there_and_started_again(crash: Crash, bench: Bench) -> None:
    found = bench.survive(crash)
    assert found == Found(found.written, missing=0, twice=0)
    assert found.written


def test_names_of_cases_are_there() -> None:
    assert set(IN_EVERY_RUN) <= {crash.name for crash in CRASHES}
