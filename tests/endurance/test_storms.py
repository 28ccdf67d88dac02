"""A row changes that a million rows are joined to: what the workers of a real job hold meanwhile."""

from __future__ import annotations

import sys

import pytest

from tests.endurance.storms import FEW_GROUPS, JOIN, MANY_GROUPS, TOP_N, storm

FEW, MANY = 100_000, 1_000_000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("query", "changes", "more"), [(JOIN, 2, 100), (MANY_GROUPS, 1, 300)])
def test_memory_of_workers_hardly_depends_on_how_many_rows_follow(
    query: str, changes: int, more: int, broker: str
) -> None:
    """`more` megabytes: an aggregate holds some packets and takes a part of them at a time, where they are many."""
    few, many = storm(broker, query, FEW), storm(broker, query, MANY)
    assert (few.rows_out, many.rows_out) == (changes * FEW, changes * MANY)
    assert many.megabytes <= few.megabytes + more, (few, many)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("query", "changes"), [(FEW_GROUPS, 2), (TOP_N, 6)])
def test_few_groups_of_rows_that_a_million_follow(query: str, changes: int, broker: str) -> None:
    assert storm(broker, query, MANY).rows_out == changes
