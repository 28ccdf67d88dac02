"""What Spark leaves in a job's folder when it begins and ends batches, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def begin_a_batch(folder: Path, number: int = 0, offsets: str = '{"t":{"0":5}}') -> None:
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_text('{"id":"e7f4"}')
    (folder / "offsets" / str(number)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{offsets}')


def end_a_batch(folder: Path, number: int = 0) -> None:
    (folder / "commits").mkdir(parents=True, exist_ok=True)
    (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
