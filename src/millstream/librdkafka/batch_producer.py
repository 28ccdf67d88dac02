"""Sends columns of messages; a failed delivery is raised by whatever is called next."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from confluent_kafka import KafkaError

from millstream.librdkafka import library
from millstream.librdkafka.library import ClientError
from millstream.librdkafka.message_columns import MESSAGE, write_messages

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

_COPY: Final = 2
_OWN_PARTITIONS: Final = 8
_ANY_PARTITION: Final = -1
_QUEUE_AND_IN_FLIGHT: Final = 3
_QUEUE_FULL: Final = KafkaError._QUEUE_FULL  # noqa: SLF001
_TIMED_OUT: Final = KafkaError._TIMED_OUT  # noqa: SLF001
_MESSAGE_TIMED_OUT: Final = KafkaError._MSG_TIMED_OUT  # noqa: SLF001
_ALL_DOWN: Final = KafkaError._ALL_BROKERS_DOWN  # noqa: SLF001
_AUTHENTICATION: Final = KafkaError._AUTHENTICATION  # noqa: SLF001
_FATAL: Final = KafkaError._FATAL  # noqa: SLF001
TOO_LARGE: Final = KafkaError.MSG_SIZE_TOO_LARGE
_MOST_AT_ONCE: Final = 16_384
_ROOM_MS: Final = 5
_FIRST_WAIT_MS: Final = 1
_LONGEST_WAIT_MS: Final = 64
_RKT: Final = MESSAGE.fields["rkt"][1]  # type: ignore[index]


class BatchProducer:
    """Messages of a partition arrive in the order in which they were sent."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Settings as for confluent-kafka's Producer; raises ValueError if the client does not accept them."""
        self._failure: ClientError | None = None
        self._reported: ClientError | None = None
        self._on_error = library.ERROR_CALLBACK(self._note_error)
        self._on_delivery = library.DELIVERY_CALLBACK(self._note_delivery)
        settings = {**settings, "delivery.report.only.error": True}
        self._client = library.create_client(library.PRODUCER, settings, self._on_error, self._on_delivery)
        self._topics: dict[str, ctypes.c_void_p] = {}

    def send(self, topic: str, keys: pa.Array | None, values: pa.Array, partitions: np.ndarray | None = None) -> None:
        """Returns when all messages are copied, which is before they are delivered; blocks while the queue is full.

        Columns are of Arrow's type `binary`. Without `partitions`, or where one is -1, the client chooses by the key.
        """
        handle = self._topic(topic)
        flags = _COPY if partitions is None else _COPY | _OWN_PARTITIONS
        for start in range(0, len(values), _MOST_AT_ONCE):
            some = slice(start, start + _MOST_AT_ONCE)
            messages = write_messages(
                None if keys is None else keys[some],
                values[some],
                None if partitions is None else partitions[some],
            )
            self._send_some(topic, handle, flags, messages)

    def flush(self, timeout_seconds: float) -> None:
        """Returns when all messages are delivered; raises ClientError as soon as one is not."""
        deadline, wait = time.monotonic() + timeout_seconds, _FIRST_WAIT_MS
        while library.flush(self._client, wait):
            self._raise_failure()
            if time.monotonic() > deadline:
                raise ClientError(_TIMED_OUT, f"messages were not delivered within {timeout_seconds:g} s")
            wait = min(2 * wait, _LONGEST_WAIT_MS)  # librdkafka notices the last delivery only when a wait ends
        self._raise_failure()
        self._reported = None

    def close(self) -> None:
        """Gives up what is not delivered."""
        library.purge(self._client, _QUEUE_AND_IN_FLIGHT)
        for topic in self._topics.values():
            library.topic_destroy(topic)
        library.destroy(self._client)

    def _send_some(self, topic: str, handle: ctypes.c_void_p, flags: int, messages: np.ndarray) -> None:
        while len(messages):
            messages["err"] = 0
            count = library.produce_batch(handle, _ANY_PARTITION, flags, messages.ctypes.data, len(messages))
            library.poll(self._client, 0 if count else _ROOM_MS)
            self._raise_failure()
            if count == len(messages):
                return
            refused = np.flatnonzero(messages["err"])
            for place in refused[messages["err"][refused] != _QUEUE_FULL][:1]:
                raise _refusal(topic, messages[place])
            messages = messages[refused[0] :]  # librdkafka takes none after the first that finds the queue full

    def _topic(self, name: str) -> ctypes.c_void_p:
        if name not in self._topics:
            self._topics[name] = library.open_topic(self._client, name)
        return self._topics[name]

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _note_error(self, _client: int, code: int, text: bytes, _opaque: int) -> None:
        """The client retries after most errors; they say why a message was not delivered in the end."""
        if self._reported is None or code != _ALL_DOWN:  # which does not say why
            self._reported = ClientError(code, text.decode(errors="replace"))
        if code == _FATAL:
            self._failure = self._failure or library.find_fatal_error(self._client)
        elif code == _AUTHENTICATION:
            self._failure = self._failure or self._reported

    def _note_delivery(self, _client: int, message: int, _opaque: int) -> None:
        """Called for messages that are not delivered."""
        if self._failure is not None:
            return
        code = ctypes.c_int32.from_address(message).value
        if code == _FATAL:
            self._failure = library.find_fatal_error(self._client)
        elif code == _MESSAGE_TIMED_OUT and self._reported is not None:
            self._failure = ClientError(code, self._reported.text)
        else:
            topic = library.topic_name(ctypes.c_void_p.from_address(message + _RKT)).decode()
            self._failure = ClientError(code, f"topic {topic}: {ClientError(code).text}")


def _refusal(topic: str, message: np.void) -> ClientError:
    code = int(message["err"])
    if code != TOO_LARGE:
        return ClientError(code, f"topic {topic}: {ClientError(code).text}")
    size = int(message["len"]) + int(message["key_len"])
    return ClientError(code, f"topic {topic}: key and value of a message have {size} bytes")
