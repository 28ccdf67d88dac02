"""Whatever a job is doing when it is killed: started again, it keeps what its guarantee promises."""

from __future__ import annotations

from typing import Final

import pytest

from tests.faults.crashes import CRASHES, Bench, Crash

IN_EVERY_RUN: Final = (
    "exactly-once-append-after-commit-1",
    "exactly-once-upsert-after-state-3",
    "at-least-once-changes-after-task-3",
)


@pytest.fixture(scope="module")
def bench(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(broker, tmp_path_factory.mktemp("crashes"))


@pytest.mark.parametrize(
    "crash",
    [
        pytest.param(crash, id=crash.name, marks=() if crash.name in IN_EVERY_RUN else pytest.mark.faults)
        for crash in CRASHES
    ],
)
def test_killed_there_and_started_again(crash: Crash, bench: Bench) -> None:
    found = bench.survive(crash)
    assert found.keeps(crash.guarantee), found


def test_names_of_cases_are_there() -> None:
    assert set(IN_EVERY_RUN) <= {crash.name for crash in CRASHES}
