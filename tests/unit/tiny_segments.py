"""Tables whose limits are so low that a few rows have several segments, filters and merges, and are read in parts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from millstream.kernels import row_counts
from millstream.spark import packets
from millstream.state import hash_filter, merge_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

TINY_PIECE = 100
"""Bytes: a row or two."""


@contextmanager
def tiny_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in {"_FEW_ROWS": 1, "_GROWTH": 2, "_LEAST_MERGED": 3, "_MOST_MERGED": 5}.items():
            patch.setattr(merge_policy, name, limit)
        patch.setattr(hash_filter, "_LEAST_ROWS", 1)
        patch.setattr(row_counts, "_PORTION_ROWS", 1)
        patch.setattr(packets, "_STEP_BYTES", 2000)
        yield
