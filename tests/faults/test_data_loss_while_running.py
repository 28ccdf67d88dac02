"""Messages that are deleted while a job runs, before it has read them."""

from __future__ import annotations

import signal
from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

from tests.faults.failing_broker import PARTITIONS
from tests.faults.orders_job import CUSTOMERS, OrdersJob, drain
from tests.faults.processes import objects, until
from tests.runtime.topics import delete_before

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.faults]

READ: Final = CUSTOMERS // PARTITIONS
"""Offsets of a partition that the job has read when it is held, in two batches."""
LOST: Final = 20
NOTHING_AHEAD: Final = "'properties.fetch.max.wait.ms' = '1'"
"""Prevents Spark's consumers from prefetching messages that are deleted meanwhile."""


def lose_some(job: OrdersJob, process: subprocess.Popen[str]) -> None:
    """Deletes the first orders in partition 0 of the second round, which the job does not know yet."""
    job.await_hold(process)
    job.order(1)
    delete_before(job.brokers, job.orders_topic, READ + LOST)
    job.let_go()


def test_running_job_fails_and_names_what_is_gone(broker: str, tmp_path: Path) -> None:
    with OrdersJob(broker, tmp_path, source=NOTHING_AHEAD) as job:
        job.order(1)
        first_round = job.expected
        with job.run(hold="before-offsets:2") as process:
            lose_some(job, process)
            assert drain(process) == 1
        assert "M4004" in job.read_notices()
        assert f"Partition 0, of the offsets from {READ} up to" in job.read_notices()
        assert job.read_totals() == first_round


def test_running_job_goes_on_behind_the_gap_and_counts_it(broker: str, tmp_path: Path) -> None:
    with OrdersJob(broker, tmp_path, source=f"{NOTHING_AHEAD}, 'scan.fail-on-data-loss' = 'false'") as job:
        job.order(1)
        with job.run(hold="before-offsets:2") as process:
            lose_some(job, process)
            lost = until(process, lambda event: event.get("event") == "lost", job.notices)
            assert (lost["topic"], lost["partition"]) == (job.orders_topic, 0)
            assert (lost["first_offset"], lost["end_offset"], lost["count"]) == (READ, READ + LOST, LOST)
            unordered = range(0, LOST * PARTITIONS, PARTITIONS)
            expected = job.expected - Counter((customer, 2, 2 * customer) for customer in unordered)
            progress = until(process, lambda event: event.get("lost") == LOST, job.notices)
            assert progress["job"] == "totals"
            while job.read_totals() != expected:
                next(objects(process))
            process.send_signal(signal.SIGTERM)
            assert drain(process) == 0, job.read_notices()
        assert job.read_totals() == expected
