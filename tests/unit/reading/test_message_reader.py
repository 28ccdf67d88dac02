"""How the messages of several ranges are joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from millstream.reading.message_reader import _join_small

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize(("size", "most"), [(600_000, 2), (100_000, 11), (10, 8192)])
def test_messages_that_come_one_by_one_are_not_held_back_for_long(size: int, most: int) -> None:
    """Thousands of large messages, each of which came alone, would fill the memory."""
    value = b"x" * size
    held = most_held = 0

    def come() -> Iterator[pa.RecordBatch]:
        nonlocal held, most_held
        for _ in range(20_000 if size < 1000 else 50):
            held += 1
            most_held = max(most_held, held)
            yield pa.record_batch([pa.array([value])], ["value"])

    for batch in _join_small(come()):
        held -= batch.num_rows

    assert held == 0
    assert most_held == most
