"""Spark's notes of batches, read before Spark does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.errors import Code, JobError
from millstream.runtime.batch_log import BatchLog
from tests.begun_batches import BEGUN_AT_MS, begin_a_batch, end_a_batch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def log(tmp_path: Path) -> BatchLog:
    """Batches 3 and 4 are left of a longer life; 4 has not ended."""
    begin_a_batch(tmp_path, 3, '{"t":{"0":5,"1":7}}\n-')
    end_a_batch(tmp_path, 3)
    begin_a_batch(tmp_path, 4, '{"t":{"0":9,"1":7}}\n-')
    return BatchLog(tmp_path)


def test_new_job(tmp_path: Path) -> None:
    log = BatchLog(tmp_path / "none")
    log.check()
    assert (log.last_begun, log.last_finished, log.unfinished, log.read_up_to()) == (None, None, None, [])


def test_unfinished_batch_begins_where_the_finished_one_ended(log: BatchLog) -> None:
    log.check()
    assert log.unfinished == 4
    assert log.read_up_to() == [{("t", 0): 5, ("t", 1): 7}, {}]


def test_time_of_a_batch(log: BatchLog) -> None:
    assert log.start_time(4) == BEGUN_AT_MS / 1000


def test_finished_batch(log: BatchLog) -> None:
    end_a_batch(log.folder, 4)
    log.check()
    assert log.unfinished is None
    assert log.read_up_to() == [{("t", 0): 9, ("t", 1): 7}, {}]


def test_what_spark_leaves_beside_is_passed_over(log: BatchLog) -> None:
    for name in (".4.crc", ".5.4711.tmp", ".4.4711.tmp.crc"):
        (log.folder / "offsets" / name).touch()
    log.check()
    assert log.last_begun == 4


CHECKSUM = "6372630000000200f32abfdd"


def test_checksum_beside_a_file(log: BatchLog) -> None:
    """As Spark 4.2 wrote both; a digit that changed would otherwise be an offset like any other."""
    file = log.folder / "commits" / "3"
    file.write_text('v1\n{"nextBatchWatermarkMs":0}')
    file.with_name(".3.crc").write_bytes(bytes.fromhex(CHECKSUM))
    log.check()
    file.write_text('v1\n{"nextBatchWatermarkMs":9}')
    with pytest.raises(JobError, match="not match its checksum"):
        log.check()


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "offsets cut off": ("offsets/4", lambda file: file.write_text("v1\n{}")),
    "offsets not JSON": ("offsets/4", lambda file: file.write_text('v1\n{}\n{"t":{"0":')),
    "offsets of another version": ("offsets/4", lambda file: file.write_text("v9\n{}\n{}")),
    "offsets not text": ("offsets/4", lambda file: file.write_bytes(b"v1\n\xff\xfe\n{}")),
    "offsets a folder": ("offsets/4", lambda file: file.rename(file.with_name("x")).parent.joinpath("4").mkdir()),
    "commit cut off": ("commits/3", lambda file: file.write_text("v1")),
    "commit before the last is gone": ("commits/3", lambda file: file.unlink()),
    "metadata gone": ("metadata", lambda file: file.unlink()),
    "metadata empty": ("metadata", lambda file: file.write_text("")),
    "metadata of something else": ("metadata", lambda file: file.write_text("[]")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_file_is_named(log: BatchLog, damage: str) -> None:
    name, do = DAMAGES[damage]
    do(log.folder / name)
    with pytest.raises(JobError) as caught:
        log.check()
    assert caught.value.code is Code.CHECKPOINT_MISMATCH
    assert str(log.folder / name) in caught.value.diagnostics[0].primary


def test_offsets_of_an_ended_batch_are_gone(log: BatchLog) -> None:
    end_a_batch(log.folder, 4)
    (log.folder / "offsets" / "4").unlink()
    with pytest.raises(JobError, match="offsets/4"):
        log.check()


def test_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "offsets").touch()
    with pytest.raises(JobError, match="offsets of the checkpoint is damaged"):
        BatchLog(tmp_path).check()


def test_ticks_are_told_from_the_offsets_of_generated_tables(tmp_path: Path) -> None:
    begin_a_batch(tmp_path, 0, '{"t":{"0":5}}\n86400\n-')
    begin_a_batch(tmp_path, 1, '{"t":{"0":5}}\n86401\n1000000017\n1000000017')
    log = BatchLog(tmp_path)
    assert [log.tick_of(batch) for batch in (None, 0, 1)] == [None, None, 1_000_000_017]
