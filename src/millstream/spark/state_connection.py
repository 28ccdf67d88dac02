"""The connection of a task to Spark's state, ended in the one way in which Spark lets go of its socket.

Spark's state server never closes the socket it has accepted, whether the task says that it is done or hangs up. But
Java closes a socket whose thread is interrupted while it reads, and the end of a task interrupts the state server. So
a task says nothing, leaves the server reading, and hangs up when Spark has. See docs/adr/0014-state-connections.md.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

_LEFT_OPEN: Final[list[socket.socket]] = []
"""Of tasks of this worker that are over; all but the last few are closed by the next one."""


def leave_open(handle: StatefulProcessorHandle) -> None:
    """To be called by a processor's `close`, after which PySpark would tell Spark's state server to stop reading."""
    client: Any = handle._statefulProcessorApiClient  # noqa: SLF001
    client.set_handle_state = _say_nothing
    _LEFT_OPEN[:] = [connection for connection in _LEFT_OPEN if not _close_with_peer(connection)]
    _LEFT_OPEN.append(client._client_socket)  # noqa: SLF001


def _say_nothing(state: object) -> None:
    """In the place of `set_handle_state`."""


def _close_with_peer(connection: socket.socket) -> bool:
    try:
        is_over = not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        is_over = True
    if is_over:
        connection.close()
    return is_over
