"""Tests of the checks for missing and duplicate messages, without running a job."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from millstream.testing.script_messages import Message
from tests.faults.crash_jobs import CRASH_JOBS, CrashJob
from tests.faults.crashes import Found, compare_with_truth, compare_with_undisturbed
from tests.runtime.topics import as_json

if TYPE_CHECKING:
    from collections.abc import Iterable

JOBS = {job.name: job for job in CRASH_JOBS}


def messages_of(job: CrashJob) -> list[Message]:
    """Its table, written once, as its sink writes it."""
    rows = job.truth().items()
    match job.name:
        case "upsert" | "queries":
            return [Message(key, as_json(row)) for key, row in rows]
        case "changes":
            return [insert_message(key, row) for key, row in rows]
        case _:
            return [Message(None, as_json(row)) for _, row in rows]


def insert_message(key: bytes, row: object) -> Message:
    return Message(key, as_json({"before": None, "after": row, "op": "c"}))


def delete_message(key: bytes, row: object) -> Message:
    return Message(key, as_json({"before": row, "after": None, "op": "d"}))


def compare(job: CrashJob, messages: Iterable[Message]) -> tuple[int, int]:
    found = compare_with_truth(list(messages), job)
    return found.missing, found.twice


@pytest.mark.parametrize("job", CRASH_JOBS, ids=lambda job: job.name)
def test_the_truth_done_again_is_the_truth(job: CrashJob) -> None:
    messages = messages_of(job)
    assert compare(job, messages) == (0, 0)
    assert compare(job, [*messages[:5], *messages]) == (0, 5)


@pytest.mark.parametrize("job", CRASH_JOBS, ids=lambda job: job.name)
def test_a_row_that_lacks_is_missing(job: CrashJob) -> None:
    assert compare(job, messages_of(job)[1:]) == (1, 0)


def test_a_row_that_nobody_asked_for_is_wrong() -> None:
    stray = Message(None, as_json({"id": 9_999, "amount": 1}))
    assert compare(JOBS["append"], [*messages_of(JOBS["append"]), stray]) == (1, 0)


def test_the_last_of_a_key_wins() -> None:
    job = JOBS["upsert"]
    last = messages_of(job)
    earlier = Message(last[0].key, as_json({"customer": 0, "orders": 1, "amounts": 1}))
    assert compare(job, [earlier, *last]) == (0, 0)
    assert compare(job, [*last, earlier]) == (1, 0)
    assert compare(job, [*last, Message(last[0].key, None)]) == (1, 0)


def test_changes_done_again_fold_to_the_last_row() -> None:
    job = JOBS["changes"]
    (key, row), *_ = job.truth().items()
    others = messages_of(job)[1:]
    old = {**row, "total": 1}
    update = [delete_message(key, old), insert_message(key, row)]
    assert compare(job, [insert_message(key, old), *update[:1], *update, *others]) == (0, 1)
    assert compare(job, [insert_message(key, old), *update, *update[:1], *others]) == (1, 1)


def test_exactly_once_is_message_by_message() -> None:
    one, other = Message(None, b"1"), Message(None, b"2")
    assert compare_with_undisturbed(Counter([one, one, other]), Counter([one, other, other])) == Found(
        3, missing=1, twice=1
    )
