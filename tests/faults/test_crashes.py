"""Whatever a job is doing when it is killed: after a restart, it keeps what its guarantee promises."""

from __future__ import annotations

from typing import Final

import pytest

from tests.faults.crashes import CRASHES, Bench, Crash

SLOW: Final = (
    "exactly-once-upsert-after-state-3",
    "exactly-once-append-after-commit-1",
    "at-least-once-changes-after-task-3",
)
"""In `make test-all`; the others are in `make faults` only."""


@pytest.fixture(scope="module")
def bench(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(broker, tmp_path_factory.mktemp("crashes"))


def marks_of(crash: Crash) -> tuple[pytest.MarkDecorator, ...]:
    return (pytest.mark.slow if crash.name in SLOW else pytest.mark.faults,)


@pytest.mark.parametrize(
    "crash",
    [pytest.param(crash, id=crash.name, marks=marks_of(crash)) for crash in CRASHES],
)
def test_killed_there_and_started_again(crash: Crash, bench: Bench) -> None:
    found = bench.survive(crash)
    assert found.keeps(crash.guarantee), found


def test_names_of_cases_are_there() -> None:
    assert set(SLOW) <= {crash.name for crash in CRASHES}
