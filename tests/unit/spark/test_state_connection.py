"""A task's connection to Spark's state stays open until Spark has closed its end, and no longer."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor_api_client import (
    StatefulProcessorApiClient,
    StatefulProcessorHandleState,
)
from pyspark.sql.types import StructType

from millstream.spark.state_connection import leave_open

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class StateServer:
    """Accepts as Spark's does."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(self._path)
        self._listening.listen()

    def end_task(self) -> tuple[socket.socket, socket.socket]:
        """Both ends of the connection of a task that is over."""
        client = StatefulProcessorApiClient(self._path, StructType())
        accepted, _ = self._listening.accept()
        leave_open(StatefulProcessorHandle(client))
        client.set_handle_state(StatefulProcessorHandleState.CLOSED)  # would wait for an answer
        return client._client_socket, accepted

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StateServer]:
    server = StateServer(tmp_path / "s")
    yield server
    server.close()


def test_spark_is_left_to_hang_up_first(server: StateServer) -> None:
    ours, sparks = server.end_task()
    sparks.setblocking(False)
    with pytest.raises(BlockingIOError):  # nothing was said, and nobody hung up
        sparks.recv(1)
    later, sparks_later = server.end_task()
    assert ours.fileno() >= 0
    sparks.close()
    last, sparks_last = server.end_task()
    assert ours.fileno() == -1
    assert later.fileno() >= 0
    sparks_later.close()
    sparks_last.close()
    for each in (later, last):
        each.close()
