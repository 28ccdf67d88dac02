"""The process that delivers for the tasks of one executor: `python -m millstream.delivery.process SOCKET PID`.

Producers live here from batch to batch, wherever Spark runs a task next: a transactional producer takes up to a second
to start. The process ends when process PID does, when its socket's file is gone, or after a long time without requests.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from millstream.delivery.delivery_error import DeliveryError, Failure
from millstream.delivery.request import DeliveryRequest
from millstream.delivery.transactional_writer import TransactionalWriter
from millstream.delivery.wire import read_batches, read_text, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.delivery.request import Transactions
    from millstream.delivery.wire import Stream

_LOOK_SECONDS: Final = 1.0
_IDLE_SECONDS: Final = 600.0
_WAITING: Final = 64


class WriterSlot:
    """One writer, which its tasks use in turn: an attempt that Spark gave up on may still be using it."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._writer: TransactionalWriter | None = None
        self._transactions: Transactions | None = None

    def deliver(self, request: DeliveryRequest, batches: Iterable[pa.RecordBatch]) -> None:
        with self._turn:
            if self._transactions != request.transactions:
                self._close()  # the job has restarted since, and has fenced it
            if self._writer is None:
                self._writer = TransactionalWriter(request.properties, request.transactions, request.writer)
                self._transactions = request.transactions
            try:
                self._writer.deliver(request, batches)
            except BaseException:
                self._close()
                raise

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()


class DeliveryProcess:
    def __init__(self, path: Path, watched: int) -> None:
        self._path = path
        self._watched = watched
        self._slots: dict[tuple[str, str], WriterSlot] = {}
        self._desks_lock = threading.Lock()
        self._busy = 0
        self._last_seen = time.monotonic()

    def serve(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            unfinished = self._path.with_suffix(".new")
            unfinished.unlink(missing_ok=True)
            listener.bind(str(unfinished))
            listener.listen(_WAITING)
            listener.settimeout(_LOOK_SECONDS)
            unfinished.rename(self._path)
            while self._is_wanted():
                with suppress(TimeoutError):
                    connection, _ = listener.accept()
                    connection.settimeout(None)
                    threading.Thread(target=self._serve_connection, args=(connection,), daemon=True).start()

    def _is_wanted(self) -> bool:
        if self._busy:
            self._last_seen = time.monotonic()
        is_idle = time.monotonic() - self._last_seen > _IDLE_SECONDS
        return self._path.exists() and _is_alive(self._watched) and not is_idle

    def _serve_connection(self, connection: socket.socket) -> None:
        self._busy += 1
        try:
            with connection, connection.makefile("rwb") as stream, suppress(OSError, EOFError):
                self._answer(connection, stream)
        finally:
            self._busy -= 1

    def _answer(self, connection: socket.socket, stream: Stream) -> None:
        request = DeliveryRequest.from_json(read_text(stream))
        rest = read_batches(stream)
        try:
            self._slot(request).deliver(request, rest)
            answer = {}
        except DeliveryError as error:
            answer = {"failure": error.failure, "why": error.why}
        except (OSError, EOFError, pa.ArrowInvalid):
            raise EOFError from None  # the task is gone: nobody waits for a response
        except Exception as error:  # noqa: BLE001
            answer = {"failure": Failure.REFUSED, "why": f"{type(error).__name__}: {error}."}
        write_text(stream, json.dumps(answer).encode())
        connection.shutdown(socket.SHUT_WR)
        with suppress(pa.ArrowInvalid):  # the task may break off anywhere once it has a response
            for _ in rest:  # unread data would look like a broken connection, and the response would be lost
                pass

    def _slot(self, request: DeliveryRequest) -> WriterSlot:
        key = (request.table, request.transactions.id_of(request.writer))
        with self._desks_lock:
            return self._slots.setdefault(key, WriterSlot())


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remove_socket(path: Path) -> None:
    for file in (path, *(path.with_suffix(suffix) for suffix in (".log", ".lock"))):
        file.unlink(missing_ok=True)
    with suppress(OSError):  # others are using it, or it is gone
        path.parent.rmdir()


def main() -> None:
    path, watched = Path(sys.argv[1]), int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the job, which lets its batch finish
    with path.with_suffix(".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # another process serves, or is about to
        DeliveryProcess(path, watched).serve()
        _remove_socket(path)
    os._exit(0)  # an open transaction is left to step 1 of the next process


if __name__ == "__main__":
    main()
