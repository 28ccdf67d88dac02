"""The current rows of a table that is looked up, as a worker keeps them from task to task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from millstream.kernels.lookup import CurrentRows
from millstream.reading.message_reader import read_messages
from millstream.reading.offset_plan import ranges_between
from millstream.reading.topic_offsets import TopicOffsets

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.connectors.kafka.read_range import Offsets
    from millstream.librdkafka.partition_consumer import Range
    from millstream.reading.read_request import ReadRequest
    from millstream.spark.python_stage import Step

_ROWS_TOGETHER: Final = 500_000
"""Changes that are applied at once: each time, the rows of the table are copied."""


class LookupContent(Protocol):
    """Where the rows come from; it is sent to the workers, which ask for the current rows once per task."""

    def rows_now(self) -> CurrentRows: ...


@dataclass(frozen=True, slots=True)
class TopicContent:
    """A compacted topic: all of it is read by the first task of a worker, and later ones read what has come since."""

    file: Path
    """There for as long as the job runs: workers keep rows no longer than that."""
    request: ReadRequest
    step: Step
    """From messages to changes of rows."""
    schema: pa.Schema
    keys: tuple[str, ...]

    def rows_now(self) -> CurrentRows:
        kept = _KEPT.get(self.file)
        if not isinstance(kept, _TopicRows):
            kept = _KEPT[self.file] = _TopicRows(self)
        return kept.refresh()


@dataclass(frozen=True, slots=True)
class FileContent:
    """Rows that the driver has read, in an Arrow file of its own, which it replaces when it has read them again."""

    file: Path
    step: Step | None
    """What is computed from them."""
    schema: pa.Schema

    def write(self, rows: pa.Table) -> None:
        unfinished = self.file.with_suffix(".new")
        with pa.ipc.new_file(unfinished, rows.schema) as writer:
            writer.write_table(rows)
        unfinished.rename(self.file)

    def fail(self, why: str) -> None:
        """The rows could not be read again: who asks for them is told."""
        self._failure.write_text(why)

    @property
    def _failure(self) -> Path:
        return self.file.with_suffix(".failed")

    def rows_now(self) -> CurrentRows:
        if self._failure.exists():
            raise LookupReadError(self._failure.read_text())
        written = self.file.stat()
        kept = _KEPT.get(self.file)
        if not isinstance(kept, _FileRows) or kept.written != (written.st_ino, written.st_mtime_ns):
            kept = _KEPT[self.file] = _FileRows((written.st_ino, written.st_mtime_ns), self._load())
        return kept.rows

    def _load(self) -> CurrentRows:
        rows = CurrentRows(self.schema, ())
        with pa.memory_map(str(self.file)) as content, pa.ipc.open_file(content) as reader:
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
            found = list(batches if self.step is None else self.step(batches))
            if found:
                rows.apply(pa.Table.from_batches(found))
        return rows


class LookupReadError(Exception):
    """The files of a table that is looked up could not be read again."""


def release_ended() -> None:
    """Forgets the rows of jobs that have ended."""
    for file in [file for file in _KEPT if not file.exists()]:
        del _KEPT[file]


@dataclass(frozen=True, slots=True)
class _FileRows:
    written: tuple[int, int]
    """Which version of the file it is."""
    rows: CurrentRows


class _TopicRows:
    def __init__(self, content: TopicContent) -> None:
        self._content = content
        self._offsets = TopicOffsets(content.request)
        self._reached: Offsets = {}
        self._rows = self._no_rows()

    def refresh(self) -> CurrentRows:
        latest = self._offsets.latest()
        if any(latest.get(place, 0) < offset for place, offset in self._reached.items()):  # the topic was created again
            self._reached, self._rows = {}, self._no_rows()
        if latest != self._reached:
            first = self._reached or self._offsets.earliest()
            self._read(ranges_between(first, latest))
            self._reached = latest
        return self._rows

    def _no_rows(self) -> CurrentRows:
        return CurrentRows(self._content.schema, self._content.keys)

    def _read(self, ranges: list[Range]) -> None:
        waiting: list[pa.RecordBatch] = []
        for batch in self._content.step(read_messages(self._content.request, ranges)):
            waiting.append(batch)
            if sum(each.num_rows for each in waiting) >= _ROWS_TOGETHER:
                self._rows.apply(pa.Table.from_batches(waiting))
                waiting = []
        if waiting:
            self._rows.apply(pa.Table.from_batches(waiting))


_KEPT: Final[dict[Path, _TopicRows | _FileRows]] = {}
"""What this process keeps, by the content's file."""
