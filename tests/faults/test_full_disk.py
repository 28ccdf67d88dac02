"""A checkpoint on a disk that becomes full."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from millstream import Session
from millstream.errors import Code, JobError
from millstream.runtime.kafka_admin import KafkaAdmin
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.topics import folded, fresh_name, produce

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "small"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_job_goes_on_when_there_is_room_again(broker: str, spark: SparkSession, small_disk: Path) -> None:
    parameters = {"brokers": broker, "numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(parameters["numbers"], "numbers")
    first, second = numbers(range(100)), numbers(range(50, 20_000))
    produce(broker, parameters["numbers"], first)
    with Session(spark, checkpoint=small_disk / "c") as session:
        session.execute_sql(SCRIPT, parameters=parameters, drain=True)[0].await_end(60)
    produce(broker, parameters["numbers"], second)
    filler = small_disk / "filler"
    _fill(filler)
    with Session(spark, checkpoint=small_disk / "c") as session, pytest.raises(JobError) as failed:
        session.execute_sql(SCRIPT, parameters=parameters, drain=True)[0].await_end(60)
    assert failed.value.code is Code.JOB_FAILED
    assert "a disk is full" in str(failed.value)
    filler.unlink()
    with Session(spark, checkpoint=small_disk / "c") as session:
        session.execute_sql(SCRIPT, parameters=parameters, drain=True)[0].await_end(60)
    assert folded(broker, parameters["digits"]) == truth(first + second)


def _fill(filler: Path) -> None:
    """All but a little: a batch can begin and not end."""
    room = shutil.disk_usage(filler.parent).free - 64 * 1024
    filler.write_bytes(b"x" * room)
