"""Which batch a job does again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.runtime.pending_batch import PendingBatch, pending_batch

if TYPE_CHECKING:
    from pathlib import Path

BEGUN = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1700000000500,"conf":{}}\n{"orders":{"0":4}}'


@pytest.mark.parametrize(
    ("offsets", "commits", "expected"),
    [
        ((), (), None),
        ((0,), (), PendingBatch(0, 1_700_000_000.5)),
        ((9, 10), (9,), PendingBatch(10, 1_700_000_000.5)),
        ((9, 10), (9, 10), None),
    ],
)
def test_what_was_begun_and_not_finished(
    offsets: tuple[int, ...], commits: tuple[int, ...], expected: PendingBatch | None, tmp_path: Path
) -> None:
    for log, batches in (("offsets", offsets), ("commits", commits)):
        (tmp_path / log).mkdir()
        (tmp_path / log / ".0.crc").touch()
        for batch in batches:
            (tmp_path / log / str(batch)).write_text(BEGUN)
    assert pending_batch(tmp_path) == expected


def test_no_checkpoint_yet(tmp_path: Path) -> None:
    assert pending_batch(tmp_path) is None
