"""What travels ahead of messages, and who may say that a batch is written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.delivery.delivery_error import DeliveryError, Failure
from millstream.delivery.request import DeliveryRequest, Transactions
from millstream.delivery.transactional_writer import TransactionalWriter

ONCE = Transactions("orders", "t", run="r1", start="s2", replayed=7, timeout_ms=1000, ids="/ids")


def test_it_arrives_as_it_left() -> None:
    sent = DeliveryRequest("sink", None, {"bootstrap.servers": "x:1"}, "p3", 12, ONCE)
    assert DeliveryRequest.from_json(sent.to_json()) == sent


def test_names() -> None:
    assert ONCE.id_of("p3") == "orders-p3"
    assert ONCE.is_of_this_run("r1 s1")
    assert not ONCE.is_of_this_run("r2 s2")
    assert not ONCE.is_of_this_run(None)


@pytest.mark.parametrize(
    ("progress", "by_this_start", "batch", "is_there"),
    [
        (0, False, 0, False),
        (7, False, 7, False),
        (8, False, 7, True),  # the batch that was pending when the job started
        (10, True, 9, True),  # written by this very start, and done again after a failure
        (9, True, 9, False),
    ],
)
def test_what_is_passed_over(progress: int, by_this_start: bool, batch: int, is_there: bool) -> None:  # noqa: FBT001
    assert writer_at(progress, by_this_start=by_this_start)._is_written(batch) is is_there


@pytest.mark.parametrize(("progress", "batch"), [(7, 6), (9, 7), (50, 7)])
def test_topic_ahead_of_the_checkpoint_is_refused(progress: int, batch: int) -> None:
    with pytest.raises(DeliveryError) as caught:
        writer_at(progress, by_this_start=False)._is_written(batch)
    assert caught.value.failure is Failure.OLDER_CHECKPOINT
    assert f"Batch {progress - 1} is written" in caught.value.why


def writer_at(progress: int, *, by_this_start: bool) -> TransactionalWriter:
    writer = TransactionalWriter({}, replace(ONCE), "p0")
    writer._progress, writer._progress_is_ours = progress, by_this_start
    return writer
