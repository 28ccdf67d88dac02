"""A job that was frozen while another run replaced it: when it resumes, it writes nothing and says why."""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from tests.faults.orders_job import OrdersJob, drain, frozen
from tests.faults.processes import objects, until_read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.spark


@pytest.fixture
def job(broker: str, tmp_path: Path) -> Iterator[OrdersJob]:
    with OrdersJob(broker, tmp_path) as job:
        job.order(3)
        yield job


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("before-init:1", marks=pytest.mark.faults),
        pytest.param("before-offsets:2", marks=pytest.mark.slow),
        pytest.param("after-offsets:1", marks=pytest.mark.faults),
        pytest.param("after-commit:1", marks=pytest.mark.faults),
    ],
)
def test_zombie_wakes_when_its_successor_has_finished(step: str, job: OrdersJob, tmp_path: Path) -> None:
    """The successor is on another machine, with a copy: on this one the zombie still has the checkpoint."""
    with job.run("--drain", hold=step) as zombie:
        job.await_hold(zombie)
        with frozen(zombie):
            job.let_go()
            with job.run("--drain") as refused:
                assert drain(refused) == 1
            assert "M5005" in job.read_notices()
            copy = shutil.copytree(job.checkpoint, tmp_path / "copy")
            with job.run("--drain", checkpoint=copy) as successor:
                assert drain(successor) == 0, job.read_notices()
            assert job.read_totals() == job.expected
        assert drain(zombie) == 1
    assert "M5008" in job.read_notices()
    assert job.read_totals() == job.expected


@pytest.mark.faults
@pytest.mark.parametrize("step", ["before-init:1", "before-offsets:1"])
def test_zombie_wakes_beside_its_successor(step: str, job: OrdersJob, tmp_path: Path) -> None:
    """One that had not opened its producers yet fences those of its successor, which opens new ones."""
    with job.run(hold=step) as zombie:
        job.await_hold(zombie)
        with frozen(zombie) as wake:
            job.let_go()
            copy = shutil.copytree(job.checkpoint, tmp_path / "copy")
            with job.run(checkpoint=copy) as successor:
                until_read(successor, job.orders, job.notices)
                wake()
                assert drain(zombie) == 1
                assert "M5008" in job.read_notices()
                job.order(1)
                while job.read_totals() != job.expected:
                    next(objects(successor))
                successor.send_signal(signal.SIGTERM)
                assert drain(successor) == 0, job.read_notices()
    assert job.read_totals() == job.expected


@pytest.mark.faults
@pytest.mark.parametrize("step", ["before-init:1", "before-offsets:2", "after-commit:1"])
def test_zombie_and_successor_share_a_folder_that_has_no_locks(step: str, job: OrdersJob) -> None:
    """As on some network drives. One whose tasks are all done finds its batch ended by another process."""
    with job.run("--drain", hold=step) as zombie:
        job.await_hold(zombie)
        with frozen(zombie):
            job.let_go()
            (job.checkpoint / "lock").unlink()
            with job.run("--drain") as successor:
                assert drain(successor) == 0, job.read_notices()
        assert drain(zombie) == 1
    codes = ("M5003", "M5008") if step.startswith("after-commit") else ("M5008",)
    assert any(code in job.read_notices() for code in codes), job.read_notices()
    job.order(2)
    with job.run("--drain") as third:
        assert drain(third) == 0, job.read_notices()
    assert job.read_totals() == job.expected
