"""A delivery process that ends while it is given messages."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from millstream.delivery.client import deliver
from millstream.delivery.delivery_error import DeliveryError, Failure
from millstream.delivery.request import DeliveryRequest, Transactions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONCE = Transactions("sink", "topic", run="r1", start="s1", replayed=None, timeout_ms=1000, ids="/ids")


@pytest.mark.parametrize("rows", [1, 100_000], ids=["few", "many"])
def test_its_end_is_told_and_not_the_broken_pipe(tmp_path: Path, rows: int) -> None:
    """What is still in the buffer when the connection is closed cannot be written either."""
    folder = tmp_path / "d"
    folder.mkdir(mode=0o700)
    ended = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as process:
        process.bind(str(folder / "0.socket"))
        process.listen()

        def accept_and_end() -> None:
            process.accept()[0].close()
            ended.set()

        def batches() -> Iterator[pa.RecordBatch]:
            ended.wait()
            for _ in range(3):
                yield pa.record_batch({"value": pa.array([b"message"] * rows)})

        thread = threading.Thread(target=accept_and_end)
        thread.start()
        with pytest.raises(DeliveryError) as raised:
            deliver(folder, 0, DeliveryRequest("sink", "topic", {}, "0", 1, ONCE), batches())
        thread.join()
    assert raised.value.failure is Failure.NO_PROCESS
