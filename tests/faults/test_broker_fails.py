"""Brokers that stop, crash or stand still while a transaction is open: each message is there once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.errors import SetupError
from tests.conftest import skip_without_java
from tests.faults.failing_broker import FailingBroker
from tests.faults.orders_job import OrdersJob, drained
from tests.faults.processes import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[FailingBroker]:
    failing = FailingBroker(tmp_path / "broker")
    try:
        with failing:
            yield failing
    except SetupError as error:
        skip_without_java(error)


@pytest.mark.parametrize("end", [FailingBroker.stop, FailingBroker.kill], ids=["stopped", "killed"])
@pytest.mark.parametrize("step", ["before-offsets:1", "after-offsets:2"])
def test_broker_goes_and_comes_back(
    end: Callable[[FailingBroker], None], step: str, failing: FailingBroker, tmp_path: Path
) -> None:
    job = OrdersJob(failing.bootstrap, tmp_path)
    job.order(3)
    with job.run("--drain", hold=step) as process:
        job.await_hold(process)
        end(failing)
        job.let_go()
        waiting = until(process, lambda told: told.get("event") == "waiting", job.notices)
        assert failing.bootstrap in waiting["why"]
        failing.start_again()
        until(process, lambda told: told.get("event") == "going-on", job.notices)
        assert drained(process) == 0, job.said()
    assert job.written() == job.expected
