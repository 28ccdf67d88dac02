"""Brokers that stop, crash or freeze while a transaction is open: each message is written once."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import pytest

from millstream.errors import SetupError
from tests.conftest import skip_without_java
from tests.faults.failing_broker import FailingBroker
from tests.faults.orders_job import OrdersJob, drain
from tests.faults.processes import until, until_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.broker, pytest.mark.spark]

TIMEOUT_MS: Final = 5000
SOON_SECONDS: Final = 12
"""Less than Spark's own timeout for a query that does not stop."""
ROLLED_BACK: Final = "Completed rollback of ongoing transaction"


@pytest.fixture
def failing_broker(tmp_path: Path) -> Iterator[FailingBroker]:
    failing_broker = FailingBroker(tmp_path / "broker")
    try:
        failing_broker.start()
    except SetupError as error:
        skip_without_java(error)
    with failing_broker:
        yield failing_broker


@pytest.mark.parametrize(
    ("end", "step"),
    [
        pytest.param(FailingBroker.kill, "before-offsets:1", id="killed-before-offsets-1", marks=pytest.mark.slow),
        pytest.param(FailingBroker.kill, "before-offsets:2", id="killed-before-offsets-2", marks=pytest.mark.faults),
        pytest.param(FailingBroker.stop, "before-offsets:2", id="stopped-before-offsets-2", marks=pytest.mark.faults),
        pytest.param(FailingBroker.stop, "after-offsets:2", id="stopped-after-offsets-2", marks=pytest.mark.faults),
        pytest.param(FailingBroker.kill, "after-commit:1", id="killed-after-commit-1", marks=pytest.mark.faults),
    ],
)
def test_broker_goes_and_comes_back(
    end: Callable[[FailingBroker], None], step: str, failing_broker: FailingBroker, tmp_path: Path
) -> None:
    """After the first batch, Kafka's client may wait forever for a coordinator: then the job restarts by itself."""
    with OrdersJob(failing_broker.bootstrap, tmp_path) as job:
        job.order(3)
        with job.run("--drain", hold=step) as process:
            job.await_hold(process)
            end(failing_broker)
            job.let_go()
            waiting = until(process, lambda event: event.get("event") == "waiting", job.notices)
            assert failing_broker.bootstrap in waiting["why"]
            failing_broker.start_again()
            until(process, lambda event: event.get("event") == "going-on", job.notices)
            assert drain(process) == 0, job.read_notices()
        assert job.read_totals() == job.expected


@pytest.mark.faults
def test_broker_stands_still_for_longer_than_a_transaction_may_last(
    failing_broker: FailingBroker, tmp_path: Path
) -> None:
    """When it resumes, it aborts the transaction, or accepts the rest of it before it gets to that."""
    with OrdersJob(failing_broker.bootstrap, tmp_path, timeout_ms=TIMEOUT_MS) as job:
        job.order(3)
        with job.run("--drain", hold="before-offsets:2") as process:
            job.await_hold(process)
            with failing_broker.pause():
                job.let_go()
                until(process, lambda event: event.get("event") == "waiting", job.notices)
                time.sleep(TIMEOUT_MS / 1000)
            until(process, lambda event: event.get("event") == "going-on", job.notices)
            assert drain(process) == 0, job.read_notices()
        assert job.read_totals() == job.expected


@pytest.mark.faults
@pytest.mark.parametrize("step", ["before-offsets:1", "before-offsets:2", "after-offsets:1"])
def test_job_stands_still_for_longer_than_a_transaction_may_last(
    step: str, failing_broker: FailingBroker, tmp_path: Path
) -> None:
    with OrdersJob(failing_broker.bootstrap, tmp_path, timeout_ms=1000) as job:
        job.order(3)
        with job.run("--drain", hold=step) as process:
            job.await_hold(process)
            failing_broker.await_log(ROLLED_BACK)
            job.let_go()
            event = until(process, lambda event: event.get("event") == "waiting", job.notices)
            assert event["why"] == 'Kafka ended a transaction of job "totals"'
            assert drain(process) == 0, job.read_notices()
        assert job.read_totals() == job.expected


@pytest.mark.faults
@pytest.mark.parametrize("state", ["idle", "in a transaction", "idle, with a silent broker"])
def test_job_that_waits_for_its_broker_ends_when_it_is_asked_to(
    state: str, failing_broker: FailingBroker, tmp_path: Path
) -> None:
    """Spark's clients have timeouts of a minute, which are not waited for."""
    with OrdersJob(failing_broker.bootstrap, tmp_path) as job, ExitStack() as at_the_end:
        job.order(1)
        is_held = state == "in a transaction"
        with job.run(hold="before-offsets:2" if is_held else None) as process:
            if is_held:
                job.await_hold(process)
            else:
                until_read(process, job.orders, job.notices)
            if "silent" in state:
                at_the_end.enter_context(failing_broker.pause())
            else:
                failing_broker.stop()
            if is_held:
                job.let_go()
            until(process, lambda event: event.get("event") == "waiting", job.notices)
            process.send_signal(signal.SIGTERM)
            assert process.wait(SOON_SECONDS) == 0, job.read_notices()
