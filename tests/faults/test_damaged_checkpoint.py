"""Damages every kind of checkpoint file: the job is refused with the file's name, or its result is correct."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from millstream import Session
from millstream.errors import Code, MillstreamError
from millstream.runtime.kafka.admin import KafkaAdmin
from tests.faults.processes import COMMAND
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from _pytest.mark import ParameterSet
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Stopped:
    """A job that has run twice, and has more to read."""

    checkpoint: Path
    parameters: dict[str, str]
    truth: dict[str, dict[str, int]]


@pytest.fixture(scope="module")
def stopped_job(broker: str, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("stopped")
    parameters = {"brokers": broker, "numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(parameters["numbers"], "numbers")
    first, second, third = numbers(range(1000)), numbers(range(500, 1500)), numbers(range(1200, 1700))
    produce(broker, parameters["numbers"], first)
    (folder / "digits.sql").write_text(SCRIPT)
    arguments = [f"--param={name}={value}" for name, value in parameters.items()]
    run = [*COMMAND, "run", "digits.sql", "--drain", "--checkpoint", "c", *arguments]
    subprocess.run([*run, "--set", "parallelism.default=2"], cwd=folder, check=True, capture_output=True)
    produce(broker, parameters["numbers"], second)
    with Session(spark, checkpoint=folder / "c") as session:
        assert session.execute_sql(SCRIPT, parameters=parameters, drain=True)[0].await_end(PATIENCE)
    produce(broker, parameters["numbers"], third)
    return Stopped(folder / "c", parameters, truth(first + second + third))


EXACTLY_ONCE = SCRIPT.replace(
    "'key.format'",
    "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '${digits}',\n  'key.format'",
).replace("'format' = 'json'", "'scan.bounded.mode' = 'latest-offset', 'format' = 'json'", 1)


@pytest.fixture(scope="module")
def ended_job(broker: str, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """A bounded job that has written exactly once."""
    folder = tmp_path_factory.mktemp("ended")
    parameters = {"brokers": broker, "numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(parameters["numbers"], "numbers")
    rows = numbers(range(100))
    produce(broker, parameters["numbers"], rows)
    _drain(spark, folder / "c", parameters, EXACTLY_ONCE)
    return Stopped(folder / "c", parameters, truth(rows))


def empty(file: Path) -> None:
    file.write_bytes(b"")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def remove(file: Path) -> None:
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def digit(file: Path) -> None:
    """Still well-formed."""
    text = file.read_text()
    at = max(text.rfind(number) for number in "0123456789")
    file.write_text(f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}")


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


KERNEL = "jobs/digits/kernels/aggregate-1"
REFUSED: list[tuple[str, Callable[[Path], None]] | ParameterSet] = [
    pytest.param("millstream.json", empty, marks=pytest.mark.slow),
    ("millstream.json", cut),
    pytest.param("millstream.json", digit, marks=pytest.mark.slow),
    ("jobs/digits/metadata", cut),
    pytest.param("jobs/digits/metadata", remove, marks=pytest.mark.slow),
    ("jobs/digits/offsets/1", cut),
    pytest.param("jobs/digits/offsets/1", digit, marks=pytest.mark.slow),
    pytest.param("jobs/digits/offsets/1", remove, marks=pytest.mark.slow),
    ("jobs/digits/commits/1", flip),
    (f"{KERNEL}/*/*.arrow", flip),
    (f"{KERNEL}/*/*.arrow", remove),
    pytest.param(f"{KERNEL}/*/*.arrow", replace_by_folder, marks=pytest.mark.slow),
    (f"{KERNEL}/*/*.json", cut),
    pytest.param(f"{KERNEL}/*/*.json", replace_by_folder, marks=pytest.mark.slow),
    (KERNEL, shutil.rmtree),
    (f"{KERNEL}/0", shutil.rmtree),
]
STILL_RIGHT: list[tuple[str, Callable[[Path], None]]] = [
    ("jobs/digits/commits/1", remove),
    ("jobs/digits/scan-starts/*.json", cut),
]


@pytest.mark.parametrize(("pattern", "damage"), REFUSED)
def test_damaged_file_is_named(
    stopped_job: Stopped, spark: SparkSession, tmp_path: Path, pattern: str, damage: Callable[[Path], None]
) -> None:
    copy = tmp_path / "c"
    shutil.copytree(stopped_job.checkpoint, copy)
    file = _needed_file(copy, pattern)
    damage(file)
    with pytest.raises(MillstreamError) as caught:
        _drain(spark, copy, stopped_job.parameters)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH
    event = caught.value.diagnostics[0]
    assert re.search(rf"{re.escape(str(file))}(?![-\w/]|\.\w)", f"{event.primary} {event.detail}")


def _needed_file(checkpoint: Path, pattern: str) -> Path:
    """The only file of this name; of a kernel's, the newest manifest of the first bucket, or a file that it names."""
    found = sorted(checkpoint.glob(pattern))
    if not pattern.startswith(f"{KERNEL}/*"):
        [file] = found
        return file
    manifest = max(found[0].parent.glob("*.json"), key=lambda file: int(file.stem))
    if pattern.endswith(".json"):
        return manifest
    content = manifest.read_text()
    return next(file for file in found if file.parent == manifest.parent and file.name in content)


@pytest.mark.parametrize("name", ["delivery.json", "scan-ends.json", "topics.json"])
@pytest.mark.parametrize(
    "damage", [cut, remove, *(pytest.param(damage, marks=pytest.mark.slow) for damage in (empty, digit, flip))]
)
def test_damaged_file_of_our_own_is_named(
    ended_job: Stopped, spark: SparkSession, tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    copy = _copy_damaged(ended_job, tmp_path, f"jobs/digits/{name}", damage)
    with pytest.raises(MillstreamError) as caught:
        _drain(spark, copy, ended_job.parameters, EXACTLY_ONCE)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH
    assert str(copy / "jobs" / "digits" / name) in caught.value.diagnostics[0].primary


def test_lost_delivery_file_of_an_older_version_is_missed(
    ended_job: Stopped, spark: SparkSession, tmp_path: Path
) -> None:
    """Its marker does not list its files; but the ids that were used show that there was one."""
    copy = _copy_damaged(ended_job, tmp_path, "jobs/digits/delivery.json", remove)
    marker = json.loads((copy / "millstream.json").read_text())["content"]
    del marker["jobs"]["digits"]["files"]
    (copy / "millstream.json").write_text(json.dumps({"layout": 2, **marker}))
    with pytest.raises(MillstreamError, match=r"delivery\.json of the checkpoint is damaged"):
        _drain(spark, copy, ended_job.parameters, EXACTLY_ONCE)


def test_whole_copy_goes_on(ended_job: Stopped, spark: SparkSession, tmp_path: Path) -> None:
    _drain(
        spark,
        _copy_damaged(ended_job, tmp_path, "jobs/digits/delivery.json", lambda _: None),
        ended_job.parameters,
        EXACTLY_ONCE,
    )
    assert read_table(ended_job.parameters["brokers"], ended_job.parameters["digits"]) == ended_job.truth


@pytest.mark.parametrize(("pattern", "damage"), STILL_RIGHT)
def test_file_that_is_not_needed(
    stopped_job: Stopped, spark: SparkSession, tmp_path: Path, pattern: str, damage: Callable[[Path], None]
) -> None:
    copy = _copy_damaged(stopped_job, tmp_path, pattern, damage)
    parameters = {**stopped_job.parameters, "digits": fresh_name("digits")}
    _drain(spark, copy, parameters)
    assert read_table(parameters["brokers"], parameters["digits"]) == stopped_job.truth


def _copy_damaged(stopped_job: Stopped, folder: Path, pattern: str, damage: Callable[[Path], None]) -> Path:
    copy = folder / "c"
    shutil.copytree(stopped_job.checkpoint, copy)
    files = [file for file in copy.glob(pattern) if not file.name.startswith(".")]
    assert files
    for file in files:
        damage(file)
    return copy


def _drain(spark: SparkSession, checkpoint: Path, parameters: dict[str, str], script: str = SCRIPT) -> None:
    with Session(spark, checkpoint=checkpoint) as session:
        assert session.execute_sql(script, parameters=parameters, drain=True)[0].await_end(PATIENCE)
