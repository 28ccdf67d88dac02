"""Reads ranges of offsets, without a consumer group."""

from __future__ import annotations

import ctypes
import time
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from confluent_kafka import KafkaError

from millstream.librdkafka import library
from millstream.librdkafka.error_codes import AWAY, END_OF_PARTITION, OFFSET_NOT_THERE
from millstream.librdkafka.library import ClientError
from millstream.librdkafka.message_columns import copy_values, read_messages
from millstream.librdkafka.message_release import release_messages

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

TOPIC: Final = "topic"
PARTITION: Final = "partition"
KEY: Final = "key"
VALUE: Final = "value"
OFFSET: Final = "offset"
TIMESTAMP: Final = "timestamp"
TIMESTAMP_TYPE: Final = "timestamp_type"
LEADER_EPOCH: Final = "leader_epoch"
HEADERS: Final = "headers"
HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

_MOST_MESSAGES: Final = 65_536
_FIRST_MESSAGES: Final = 256
_WANTED_BYTES: Final = 16 << 20
_WAIT_MS: Final = 100
_FEW: Final = 10_000
_AHEAD: Final = 4
"""How many ranges are fetched at a time."""


class OffsetNotThereError(Exception):
    """The message at this offset, and perhaps later ones, were deleted, or do not exist yet."""

    def __init__(self, topic: str, partition: int, offset: int) -> None:
        self.topic, self.partition, self.offset = topic, partition, offset
        super().__init__(f"{topic}-{partition} has no offset {offset}")


@dataclass(frozen=True, slots=True)
class Range:
    """Offsets of one partition, from `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int


class PartitionConsumer:
    """One connection to the brokers, which reads one range after the other."""

    def __init__(self, settings: Mapping[str, Any], patience_seconds: float) -> None:
        """`patience_seconds` is how long to wait for a broker that does not respond."""
        self._reported: ClientError | None = None
        self._on_error = library.ERROR_CALLBACK(self._note_error)
        self._client = library.create_client(library.CONSUMER, settings, self._on_error)
        self._patience = patience_seconds
        self._topics: dict[str, ctypes.c_void_p] = {}
        self._next_count = _FIRST_MESSAGES

    def start_in_turn(self, ranges: Sequence[Range]) -> Iterator[Range]:
        """Each range when it is to be read. The messages of the next few are fetched meanwhile."""
        started: deque[Range] = deque()
        waiting = iter(ranges)
        try:
            while True:
                for wanted in islice(waiting, _AHEAD - len(started)):
                    self._start(wanted)
                    started.append(wanted)
                if not started:
                    return
                yield started[0]
                self._stop(started.popleft())
        finally:
            for wanted in started:
                self._stop(wanted)

    def start_again(self, wanted: Range) -> None:
        """A started range of this partition becomes this one."""
        self._stop(wanted)
        self._start(wanted)

    def read(self, wanted: Range, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """These columns of the messages of a started range that exist.

        Raises ClientError, and OffsetNotThereError after those messages that do exist.
        """
        topic = self._topic(wanted.topic)
        reached, last_seen = wanted.start, time.monotonic()
        pointers = np.zeros(_MOST_MESSAGES, np.uint64)
        while reached < wanted.end:
            count = self._consume(topic, wanted.partition, pointers, wanted.end - reached)
            library.poll(self._client, 0)  # errors of the connection
            if count:
                addresses = pointers[:count]
                try:
                    messages = read_messages(addresses)
                    codes, offsets = messages["err"], messages["offset"]
                    batch = self._take(addresses, messages, wanted, columns)
                finally:
                    release_messages(addresses)
                reached = max(reached, int(offsets[codes == 0].max(initial=-1)) + 1)
                if batch is not None:
                    self._reported = None
                    yield batch
                    last_seen = time.monotonic()
                reached = self._check(codes, offsets, wanted, reached)
            if time.monotonic() - last_seen > self._patience and reached < wanted.end:
                raise self._reported or ClientError(KafkaError._TIMED_OUT)  # noqa: SLF001

    def first_offset(self, topic: str, partition: int) -> int:
        """The first that exists, or would exist if a message came."""
        return self._ask_bounds(topic, partition)[0]

    def _ask_bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """The first and the next offset, according to the leader."""
        low, high = ctypes.c_int64(), ctypes.c_int64()
        milliseconds = int(self._patience * 1000)
        code = library.query_watermark_offsets(
            self._client, topic.encode(), partition, ctypes.byref(low), ctypes.byref(high), milliseconds
        )
        if code:
            raise ClientError(code)
        return low.value, high.value

    def _start(self, wanted: Range) -> None:
        if library.consume_start(self._topic(wanted.topic), wanted.partition, wanted.start):
            raise ClientError(library.last_error())

    def _stop(self, wanted: Range) -> None:
        """Messages that were fetched in vain are dropped when the next one is asked for."""
        topic = self._topic(wanted.topic)
        library.consume_stop(topic, wanted.partition)
        left = np.zeros(1, np.uint64)
        if library.consume_batch(topic, wanted.partition, 0, left.ctypes.data, 1) > 0:
            library.message_destroy(int(left[0]))

    def _consume(self, topic: Any, partition: int, pointers: NDArray[np.uint64], left: int) -> int:
        """How many messages came. Not all of the offsets that are left may have one: of few, only the first is awaited.

        Waiting for all of them would take the whole time at the end of each range with a gap.
        """
        most = min(left, self._next_count)
        awaited = most if left > _FEW else 1
        count = int(library.consume_batch(topic, partition, _WAIT_MS, pointers.ctypes.data, awaited))
        if 0 < count < most and awaited == 1:
            rest = pointers[count:].ctypes.data
            count += max(int(library.consume_batch(topic, partition, 0, rest, most - count)), 0)
        if count < 0:
            raise ClientError(library.last_error())
        return count

    def _take(
        self,
        addresses: NDArray[np.uint64],
        messages: NDArray[np.void],
        wanted: Range,
        columns: Collection[str],
    ) -> pa.RecordBatch | None:
        """The messages among these that belong to the range."""
        inside = (messages["err"] == 0) & (messages["offset"] < wanted.end)
        if not inside.any():
            return None
        if not inside.all():
            addresses, messages = addresses[inside], messages[inside]
        return self._to_batch(addresses, messages, wanted, columns)

    def _check(self, codes: NDArray[np.int32], offsets: NDArray[np.int64], wanted: Range, reached: int) -> int:
        """How far the range has been read, if there is no message but the end of the partition."""
        for place in np.flatnonzero(codes).tolist():
            code = int(codes[place])
            if code == END_OF_PARTITION:
                reached = max(reached, int(offsets[place]))
            elif code in AWAY:
                self._reported = ClientError(code)
            elif code not in OFFSET_NOT_THERE:
                raise ClientError(code)
            ends_early = code == END_OF_PARTITION and reached < wanted.end
            # The end is that of the broker that was asked: a follower, or a new leader, may lag behind the plan.
            if code in OFFSET_NOT_THERE or (
                ends_early and self._ask_bounds(wanted.topic, wanted.partition)[1] < wanted.end
            ):
                raise OffsetNotThereError(wanted.topic, wanted.partition, reached)
        return reached

    def _to_batch(
        self, addresses: NDArray[np.uint64], messages: NDArray[np.void], wanted: Range, columns: Collection[str]
    ) -> pa.RecordBatch:
        self._adapt(float(messages["len"].mean() + messages["key_len"].mean()))

        def make(name: str) -> pa.Array:
            match name:
                case "value":
                    return copy_values(messages["payload"], messages["len"])
                case "key":
                    return copy_values(messages["key"], messages["key_len"])
                case "offset":
                    return pa.array(messages["offset"])
                case "topic":
                    return pa.repeat(wanted.topic, len(addresses))
                case "partition":
                    return pa.repeat(pa.scalar(wanted.partition, pa.int32()), len(addresses))
                case _:
                    return _READERS[name](addresses.tolist())

        return pa.RecordBatch.from_arrays([make(name) for name in columns], names=list(columns))

    def _adapt(self, usual_bytes: float) -> None:
        """Messages may be of 10 bytes or of 10 MB: a batch of them is to have a usual size."""
        fitting = int(_WANTED_BYTES / max(usual_bytes, 1.0))
        self._next_count = max(1, min(fitting, self._next_count * 16, _MOST_MESSAGES))

    def _topic(self, name: str) -> ctypes.c_void_p:
        if name not in self._topics:
            self._topics[name] = library.open_topic(self._client, name)
        return self._topics[name]

    def _note_error(self, _client: int, code: int, text: bytes, _opaque: int) -> None:
        self._reported = ClientError(code, text.decode(errors="replace"))


def _timestamps(addresses: list[int]) -> pa.Array:
    kind = ctypes.byref(ctypes.c_int())
    return pa.array([library.message_timestamp(address, kind) for address in addresses], pa.int64())


def _timestamp_types(addresses: list[int]) -> pa.Array:
    kind, kinds = ctypes.c_int(), []
    for address in addresses:
        library.message_timestamp(address, ctypes.byref(kind))
        kinds.append(kind.value)
    return pa.array(kinds, pa.int32())


def _leader_epochs(addresses: list[int]) -> pa.Array:
    epochs = map(library.message_leader_epoch, addresses)
    return pa.array([None if epoch < 0 else epoch for epoch in epochs], pa.int32())


def _header_lists(addresses: list[int]) -> pa.Array:
    return pa.array(map(_headers, addresses), HEADERS_TYPE)


def _headers(address: int) -> list[tuple[str, bytes | None]]:
    found = ctypes.c_void_p()
    if library.message_headers(address, ctypes.byref(found)):
        return []
    name, content, size = ctypes.c_char_p(), ctypes.c_void_p(), ctypes.c_size_t()
    parts = ctypes.byref(name), ctypes.byref(content), ctypes.byref(size)
    headers: list[tuple[str, bytes | None]] = []
    while not library.header_get_all(found, len(headers), *parts):
        value = ctypes.string_at(content.value, size.value) if content.value else None
        headers.append(((name.value or b"").decode(errors="replace"), value))
    return headers


_READERS: Final = {
    TIMESTAMP: _timestamps,
    TIMESTAMP_TYPE: _timestamp_types,
    LEADER_EPOCH: _leader_epochs,
    HEADERS: _header_lists,
}
"""One call per message, which only the queries pay for that need them."""
