"""The step that writes messages from a worker: what it returns, and what becomes of its writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest

from millstream.delivery.delivery_error import DeliveryError, Failure
from millstream.spark import worker_delivery
from millstream.spark.job_errors import UndeliveredError
from millstream.spark.shared_readers import in_turns
from millstream.spark.task_input import IncompleteInputError, _InputState
from millstream.spark.worker_delivery import WorkerDelivery

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SINK: Final = WorkerDelivery("sink", "topic", {"bootstrap.servers": "x:1"})
OTHER: Final = WorkerDelivery("other", "topic", {"bootstrap.servers": "x:1"})


class Recorder:
    """In place of a writer."""

    made: Final[list[Recorder]] = []

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = properties
        self.calls: list[str] = []
        self.fails = False
        self.made.append(self)

    def write(self, _topic: str | None, batch: pa.RecordBatch) -> None:
        self.calls.append(f"write {batch.num_rows}")

    def flush(self) -> None:
        if self.fails:
            raise DeliveryError(Failure.AWAY, "Nobody answers.")
        self.calls.append("flush")

    def close(self) -> None:
        self.calls.append("close")


@pytest.fixture(autouse=True)
def writers(monkeypatch: pytest.MonkeyPatch) -> list[Recorder]:
    monkeypatch.setattr(worker_delivery, "PlainWriter", Recorder)
    monkeypatch.setattr(worker_delivery, "_WRITERS", worker_delivery._Writers())
    monkeypatch.setattr(_InputState, "is_complete", True)
    Recorder.made.clear()
    return Recorder.made


def messages(*rows: int) -> Iterator[pa.RecordBatch]:
    return (pa.RecordBatch.from_pydict({"value": pa.array([b"x"] * count, pa.binary())}) for count in rows)


def deliver(step: WorkerDelivery, *rows: int) -> list[list[int]]:
    return [batch.column(0).to_pylist() for batch in step(messages(*rows))]


def test_number_of_messages_follows_when_they_are_delivered(writers: list[Recorder]) -> None:
    step = SINK(messages(2, 0, 3))
    assert [next(step).num_rows for _ in range(3)] == [0, 0, 0]
    assert writers[0].calls == ["write 2", "write 3"]
    assert [batch.column(0).to_pylist() for batch in step] == [[5]]
    assert writers[0].calls[-1] == "flush"


def test_writer_is_kept_from_task_to_task(writers: list[Recorder]) -> None:
    assert deliver(SINK, 1) == deliver(SINK, 1) == [[], [1]]
    assert len(writers) == 1
    assert deliver(OTHER, 1) == [[], [1]]
    assert len(writers) == 2


def test_task_without_messages_needs_no_writer(writers: list[Recorder]) -> None:
    assert deliver(SINK, 0, 0) == [[], []]
    assert writers == []


def test_failed_delivery_fails_the_task_and_the_next_one_has_a_new_writer(writers: list[Recorder]) -> None:
    deliver(SINK, 1)
    writers[0].fails = True
    with pytest.raises(UndeliveredError, match="Nobody answers"):
        deliver(SINK, 1)
    assert writers[0].calls[-1] == "close"
    assert deliver(SINK, 1) == [[], [1]]
    assert len(writers) == 2


def test_task_whose_input_breaks_off_delivers_no_more(writers: list[Recorder], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_InputState, "is_complete", False)
    with pytest.raises(IncompleteInputError):
        deliver(SINK, 1)
    assert writers[0].calls == ["write 1", "close"]


def test_readers_of_the_same_rows_take_turns_and_fail_together(writers: list[Recorder]) -> None:
    """None of them runs ahead: the rows in between would have to be kept for the others."""
    seen = []

    def read() -> Iterator[pa.RecordBatch]:
        for batch in messages(1, 1, 1):
            yield batch
            seen.append([len(writer.calls) for writer in writers])

    together = in_turns([SINK, OTHER])(read())
    assert [batch.num_rows for batch in together] == [0] * 6 + [1] * 2
    assert seen == [[1, 1], [2, 2], [3, 3]]
    writers[1].fails = True
    with pytest.raises(UndeliveredError, match='"table": "other"'):
        list(in_turns([SINK, OTHER])(messages(1)))
    assert writers[1].calls[-1] == "close"


def test_idle_writers_are_closed(writers: list[Recorder], monkeypatch: pytest.MonkeyPatch) -> None:
    deliver(SINK, 1)
    monkeypatch.setattr(worker_delivery, "_IDLE_SECONDS", -1.0)
    deliver(OTHER, 1)
    assert writers[0].calls[-1] == "close"
