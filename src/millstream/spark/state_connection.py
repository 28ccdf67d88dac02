"""Closes the connection of a task to Spark's state in the only way that makes Spark release its socket.

Spark's state server never closes the socket it has accepted, whether the task says that it is done or disconnects. But
Java closes a socket whose thread is interrupted while reading, and the end of a task interrupts the state server. So a
task says nothing, leaves the server reading, and disconnects after Spark has. See docs/adr/0014-state-connections.md.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

_LEFT_OPEN: Final[list[socket.socket]] = []
"""Connections of finished tasks of this worker; the next task closes all but the last few."""


def leave_open(handle: StatefulProcessorHandle) -> None:
    """Called by a processor's `close`, after which PySpark would tell Spark's state server to stop reading."""
    client: Any = handle._statefulProcessorApiClient  # noqa: SLF001
    client.set_handle_state = _ignore_state
    _LEFT_OPEN[:] = [connection for connection in _LEFT_OPEN if not _close_with_peer(connection)]
    _LEFT_OPEN.append(client._client_socket)  # noqa: SLF001


def _ignore_state(state: object) -> None:
    """Replaces `set_handle_state`."""


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
