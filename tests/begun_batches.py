"""Writes the files that Spark leaves in a job's folder when it begins and ends batches, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.plan.program import JobPlan
    from millstream.runtime.checkpoint import Checkpoint

BEGUN_AT_MS = 1_700_000_000_500


def begin_job(checkpoint: Checkpoint, job: JobPlan, buckets: int = 5) -> Path:
    """The folder of a new job that has begun its first batch."""
    folder = checkpoint.new_job(job, buckets).path
    checkpoint.record_start(job)
    begin_a_batch(folder)
    return folder


def begin_a_batch(folder: Path, number: int = 0, offsets: str = '{"t":{"0":5}}', at_ms: int = BEGUN_AT_MS) -> None:
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_text('{"id":"e7f4"}')
    metadata = f'{{"batchWatermarkMs":0,"batchTimestampMs":{at_ms}}}'
    (folder / "offsets" / str(number)).write_text(f"v1\n{metadata}\n{offsets}")


def end_a_batch(folder: Path, number: int = 0) -> None:
    (folder / "commits").mkdir(parents=True, exist_ok=True)
    (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
