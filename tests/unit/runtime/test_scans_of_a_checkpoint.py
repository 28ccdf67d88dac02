"""Readers of one table, and a checkpoint with one position for the table or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.plan.program import compile_script
from millstream.runtime.checkpoint import Checkpoint
from millstream.runtime.checkpoint_marker import KERNELS
from millstream.source import SourceText
from tests.begun_batches import begin_a_batch

if TYPE_CHECKING:
    from pathlib import Path

SET_OVER_ONE_TABLE = """
CREATE TABLE t (a BIGINT, b STRING) WITH (
  'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE c WITH ('topic' = 'c') LIKE t;
CREATE TABLE d WITH ('topic' = 'd') LIKE t;
EXECUTE STATEMENT SET BEGIN
  INSERT INTO c SELECT a, b FROM t WHERE a > 0;
  INSERT INTO d SELECT a, b FROM t;
END;
"""
JOIN_IN_A_SET = SET_OVER_ONE_TABLE.replace(
    "END;", "INSERT INTO c SELECT x.a, y.b FROM t AS x JOIN t AS y ON x.a = y.a; END;"
)


@pytest.mark.parametrize("scans", [1, 2])
def test_set_reads_as_it_began(tmp_path: Path, scans: int) -> None:
    """Positions in the checkpoint belong to one scan, or to one for each INSERT."""
    job = compile_script(SourceText("s", SET_OVER_ONE_TABLE), {}, {}).jobs[0]
    checkpoint = Checkpoint(tmp_path)
    begin_a_batch(checkpoint.new_job(job if scans == 1 else job.reading_apart(), buckets=5).path)
    pinned = checkpoint.pin_to_checkpoint(job)
    assert checkpoint.find_job(pinned) is not None
    checkpoint.release()
    assert len(pinned.scans) == scans


@pytest.mark.parametrize("scans", [2, 3, 4])
def test_inputs_of_a_join_are_read_as_they_began(tmp_path: Path, scans: int) -> None:
    """Earlier versions shared scans between INSERTs only, and before that not at all."""
    job = compile_script(SourceText("s", JOIN_IN_A_SET), {}, {}).jobs[0]
    began = {2: job, 3: job.reading_inputs_apart(), 4: job.reading_apart()}[scans]
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(began, buckets=5).path
    (folder / KERNELS / "join-1").mkdir(parents=True)
    begin_a_batch(folder)
    pinned = checkpoint.pin_to_checkpoint(job)
    assert checkpoint.find_job(pinned) is not None
    checkpoint.release()
    assert len(pinned.scans) == scans
