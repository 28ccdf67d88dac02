"""A checkpoint on a disk that runs full."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from millstream import Session
from millstream.errors import Code, JobError
from millstream.runtime.kafka.admin import KafkaAdmin
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


_A_LITTLE = 16 * 1024
"""Enough for a batch to begin, but not for its state."""


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
    _drain(spark, small_disk, parameters)
    produce(broker, parameters["numbers"], second)
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - _A_LITTLE))
    with pytest.raises(JobError) as failed:
        _drain(spark, small_disk, parameters)
    assert failed.value.code is Code.JOB_FAILED
    assert "a disk is full" in str(failed.value)
    filler.unlink()
    _drain(spark, small_disk, parameters)
    assert read_table(broker, parameters["digits"]) == truth(first + second)


def _drain(spark: SparkSession, disk: Path, parameters: dict[str, str]) -> None:
    with Session(spark, checkpoint=disk / "c", on_event=lambda event: print(event.text)) as session:
        assert session.execute_sql(SCRIPT, parameters=parameters, drain=True)[0].await_end(PATIENCE)
