"""The task's side of a delivery: finds or starts the process that delivers, and passes it the messages."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from millstream.delivery.delivery_error import DeliveryError, Failure
from millstream.delivery.wire import read_text, write_end, write_text
from millstream.private_folder import NotPrivateError, make_private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.delivery.request import DeliveryRequest
    from millstream.delivery.wire import Stream

_START_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.01
_LONGEST_PATH: Final = 100
_STARTED: Final[list[subprocess.Popen[bytes]]] = []
"""They outlive the process that started them, which keeps them here to reap those that end."""
_ENDED: Final = "The delivery process ended."


def place_for_sockets(folder: Path) -> Path:
    """In `folder`, or somewhere with shorter paths: the path of a socket is limited to about a hundred characters."""
    name = f"d-{uuid.uuid4().hex[:8]}"
    fits = len(str(folder / name / "999.socket")) < _LONGEST_PATH
    return folder / name if fits else Path("/tmp") / f"millstream-{name}"  # noqa: S108


def deliver(folder: Path, number: int, request: DeliveryRequest, batches: Iterator[pa.RecordBatch]) -> None:
    """Returns when Kafka has all messages, and has committed them if they are a transaction.

    All of `batches` is consumed even if the messages are already written: earlier steps have work to finish. If
    anything is raised here, or this process ends, before the last batch, nothing is committed.
    """
    with _connect(folder, number) as connection, _open_stream(connection) as stream:
        is_sent = _send(connection, stream, request, batches)
        _raise_failure(_answer(stream))
    if not is_sent:
        for _ in batches:
            pass


def _send(
    connection: socket.socket, stream: Stream, request: DeliveryRequest, batches: Iterator[pa.RecordBatch]
) -> bool:
    """False if the process has responded before the end: that it failed, or that the messages are already written."""
    first = next(batches)
    answers = select.poll()
    answers.register(connection, select.POLLIN)
    with _explain_broken_connection(stream):
        write_text(stream, request.to_json())
        # Not closed on the way out of an exception, which would end the stream as if these were all messages.
        sending = pa.ipc.new_stream(stream, first.schema)
    rows = 0
    for batch in chain([first], batches):
        with _explain_broken_connection(stream):
            sending.write_batch(batch)
        rows += batch.num_rows
        if answers.poll(0):
            return False
    with _explain_broken_connection(stream):
        sending.close()
        write_end(stream, rows)
    return True


def _answer(stream: Stream) -> dict[str, str]:
    try:
        answer: dict[str, str] = json.loads(read_text(stream))
    except (EOFError, OSError) as error:
        raise DeliveryError(Failure.NO_PROCESS, _ENDED) from error
    return answer


def _raise_failure(answer: dict[str, str]) -> None:
    if answer:
        raise DeliveryError(Failure(answer["failure"]), answer["why"])


@contextmanager
def _explain_broken_connection(stream: Stream) -> Iterator[None]:
    """Wraps writing alone: an OSError of an earlier step does not concern the connection."""
    try:
        yield
    except OSError as error:
        _raise_failure(_answer(stream))
        raise DeliveryError(Failure.NO_PROCESS, f"{_ENDED[:-1]}: {error}.") from error


@contextmanager
def _open_stream(connection: socket.socket) -> Iterator[Stream]:
    """Closing it writes what is left, which fails where the process has ended; that has been raised already."""
    stream = connection.makefile("rwb")
    try:
        yield stream
    finally:
        with suppress(OSError):
            stream.close()


@contextmanager
def _connect(folder: Path, number: int) -> Iterator[socket.socket]:
    try:
        make_private_folder(folder)  # it is removed after a long time without a request, and its name is free then
    except NotPrivateError as error:
        raise DeliveryError(
            Failure.NO_PROCESS, f"The delivery process has no folder for its socket: {error}."
        ) from error
    path = folder / f"{number}.socket"
    deadline = time.monotonic() + _START_SECONDS
    starting: subprocess.Popen[bytes] | None = None
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
        except OSError as error:
            connection.close()
            if time.monotonic() > deadline:
                raise DeliveryError(Failure.NO_PROCESS, f"The delivery process did not start: {error}.") from error
            if starting is None or starting.poll() is not None:
                starting = _start(path)
            time.sleep(_LOOK_SECONDS)
            continue
        with connection:
            yield connection
        return


def _start(path: Path) -> subprocess.Popen[bytes]:
    """If two start at once, one of them exits. It lives as long as the process that forks Spark's workers."""
    with path.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "millstream.delivery.process", str(path), str(os.getppid())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    _STARTED[:] = [process, *(earlier for earlier in _STARTED if earlier.poll() is None)]
    return process
