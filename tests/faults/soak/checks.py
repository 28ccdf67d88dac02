"""Checks that each message was written once, from the messages alone."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tests.faults.soak.jobs import expected_changes, expected_counts, expected_joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from millstream.testing.script_messages import Received
    from tests.faults.soak.jobs import Row

    Sequences = dict[tuple[int, int], list[Any]]
    """What was written for a customer of a partition, in order."""


@dataclass(frozen=True, slots=True)
class Found:
    messages: int
    lost: int = 0
    doubled: int = 0


def check_passed(received: Sequence[Received], fed: int) -> Found:
    """Each number occurs once; one that was never produced is a duplicate."""
    found = Counter(json.loads(each.message.value or b"{}")["id"] for each in received)
    expected = Counter(range(fed))
    return Found(len(received), (expected - found).total(), (found - expected).total())


def check_counted(received: Sequence[Received], fed: int) -> Found:
    """A group's count only increases: a batch that is written again repeats a count, or decreases it."""
    sequences = _sequences(received)
    doubled = sum(
        after is None or (before is not None and after["orders"] <= before["orders"])
        for rows in sequences.values()
        for before, after in pairwise(rows)
    )
    lost, more = _beside(expected_counts(fed), _ends(sequences, lambda rows: rows[-1]), "orders")
    return Found(len(received), lost, doubled + more)


def check_joined(received: Sequence[Received], fed: int) -> Found:
    """Either number of a row increases: its sides may have read the same topic up to different messages."""
    sequences = _sequences(received)
    doubled = sum(
        after is None or (before is not None and (after == before or not _is_further(before, after)))
        for rows in sequences.values()
        for before, after in pairwise(rows)
    )
    lost, more = _beside(expected_joined(fed), _ends(sequences, lambda rows: rows[-1]), "orders")
    return Found(len(received), lost, doubled + more)


def _is_further(before: Row, after: Row) -> bool:
    return after["orders"] >= before["orders"] and (before["last"] is None or after["last"] >= before["last"])


def check_changed(received: Sequence[Received], fed: int) -> Found:
    """Each retraction matches the previous row: a missing or repeated change breaks the chain."""
    sequences = _sequences(received)
    lost = doubled = 0
    for changes in sequences.values():
        stands: Row | None = None
        seen = []
        for each in changes:
            if each["before"] != stands:
                lost, doubled = (lost, doubled + 1) if each in seen else (lost + 1, doubled)
            stands = each["after"]
            seen.append(each)
    missing, more = _beside(expected_changes(fed), _ends(sequences, lambda changes: changes[-1]["after"]), "held")
    return Found(len(received), lost + missing, doubled + more)


def _sequences(received: Iterable[Received]) -> Sequences:
    found: Sequences = {}
    for each in received:
        customer = json.loads(each.message.key or b"{}")["customer"]
        found.setdefault((each.partition, customer), []).append(json.loads(each.message.value or b"null"))
    return found


def _ends(sequences: Sequences, end_of: Callable[[list[Any]], Row | None]) -> list[tuple[int, Row]]:
    """A customer in two partitions has two: one of them is wrong."""
    ends = ((customer, end_of(rows)) for (_, customer), rows in sequences.items())
    return [(customer, end) for customer, end in ends if end is not None]


def _beside(truth: Mapping[int, Row], ends: list[tuple[int, Row]], counted: str) -> tuple[int, int]:
    """Rows that are missing from the final table, and rows that should not be in it."""
    lost = sum(customer not in dict(ends) for customer in truth)
    doubled = 0
    for customer, row in ends:
        expected = truth.get(customer)
        if expected is None or row[counted] > expected[counted]:
            doubled += 1
        elif row != expected:
            lost += 1
    return lost, doubled


CHECKS = {"passed": check_passed, "counted": check_counted, "changed": check_changed, "joined": check_joined}
