"""The packets of a task until its kernels take them: in a file as soon as there are many."""

from __future__ import annotations

import mmap
import tempfile
from typing import IO, TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    Stored: TypeAlias = pa.Buffer | tuple[int, int]
    """A packet in memory, or its place in the file and its length."""

_MOST_HELD: Final = 64 << 20


class PacketStore:
    """The file has no name, and is gone with the task."""

    def __init__(self) -> None:
        self._held = 0
        self._file: IO[bytes] | None = None
        self._end = 0
        self._mapped: pa.Buffer | None = None

    def add(self, packet: pa.Buffer) -> Stored:
        if self._held + packet.size <= _MOST_HELD:
            self._held += packet.size
            return packet
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
        start = self._end
        self._end += self._file.write(packet)
        return start, packet.size

    def load(self, stored: Stored) -> pa.Buffer:
        """To be called when all packets have been added."""
        if isinstance(stored, pa.Buffer):
            return stored
        if self._mapped is None:
            assert self._file is not None
            self._file.flush()
            self._mapped = pa.py_buffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ))
            self._file.close()
        return self._mapped.slice(*stored)
