"""Copies of checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.errors import Code, JobError
from millstream.runtime.checkpoint import Checkpoint
from millstream.runtime.savepoint import copy_checkpoint
from tests.begun_batches import begin_job
from tests.unit.runtime.test_checkpoint import insert

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def stopped_checkpoint(tmp_path: Path) -> Path:
    checkpoint = Checkpoint(tmp_path / "jobs-of-mine")
    begin_job(checkpoint, insert())
    checkpoint.log.touch()
    checkpoint.release()
    return checkpoint.root


def test_copy_goes_on_like_the_original(stopped_checkpoint: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["savepoint", str(stopped_checkpoint), str(tmp_path / "a" / "copy")])
    assert result.exit_code == 0, result.stderr
    assert "copied ../counts to" in result.stdout
    assert sorted(entry.name for entry in (tmp_path / "a").iterdir()) == ["copy"]
    assert sorted(entry.name for entry in (tmp_path / "a" / "copy").iterdir()) == ["jobs", "millstream.json"]
    copy = Checkpoint(tmp_path / "a" / "copy")
    found = copy.find_job(insert())
    copy.release()
    assert found is not None
    assert found.buckets == 5


def test_running_job_is_not_copied(stopped_checkpoint: Path, tmp_path: Path) -> None:
    held = Checkpoint(stopped_checkpoint)
    with pytest.raises(JobError) as caught:
        copy_checkpoint(stopped_checkpoint, tmp_path / "copy")
    held.release()
    assert caught.value.code is Code.CHECKPOINT_IN_USE
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(("source", "to"), [("none", "copy"), ("empty", "copy"), ("jobs-of-mine", "empty")])
def test_what_cannot_be_copied(stopped_checkpoint: Path, source: str, to: str) -> None:
    (stopped_checkpoint.parent / "empty").mkdir()
    with pytest.raises(JobError) as caught:
        copy_checkpoint(stopped_checkpoint.parent / source, stopped_checkpoint.parent / to)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH
    assert not (stopped_checkpoint.parent / "copy").exists()


def test_damaged_checkpoint_is_not_copied(stopped_checkpoint: Path, tmp_path: Path) -> None:
    next(stopped_checkpoint.glob("jobs/*/metadata")).unlink()
    with pytest.raises(JobError, match="metadata"):
        copy_checkpoint(stopped_checkpoint, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
