"""What the driver does for tables that are looked up while a query runs: reads files again, and tells of its end."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql.streaming.query import StreamingQuery

    from millstream.connectors.lookup_options import LookupSettings
    from millstream.spark.lookup_content import FileContent, TopicContent

_LONGEST_WAIT_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class FileReading:
    """A table whose files may be read again."""

    settings: LookupSettings
    read: Callable[[], None]
    fail: Callable[[str], None]
    """Tells who asks for the rows why they could not be read."""

    def read_again(self) -> None:
        failure = ""
        for _ in range(self.settings.retries + 1):
            try:
                self.read()
            except (PySparkException, OSError) as error:
                failure = str(error)
            else:
                return
        self.fail(failure)


@dataclass(frozen=True, slots=True)
class LookedUpTable:
    content: TopicContent | FileContent
    reading: FileReading | None = None


def accompany(query: StreamingQuery, tables: Sequence[LookedUpTable]) -> None:
    """For as long as the query runs."""
    if tables:
        threading.Thread(target=_keep_up, args=(query, tables), name="lookups", daemon=True).start()


def _keep_up(query: StreamingQuery, tables: Sequence[LookedUpTable]) -> None:
    try:
        _read_until_end(query, [each.reading for each in tables if each.reading is not None])
    except (PySparkException, Py4JError, OSError):
        pass  # it has failed, or its JVM has ended: whoever supervises it finds out
    finally:
        for table in tables:
            table.content.file.unlink(missing_ok=True)


def _read_until_end(query: StreamingQuery, readings: Sequence[FileReading]) -> None:
    repeated = [(reload, reading) for reading in readings if (reload := reading.settings.reload) is not None]
    planned = [(reload.first(_now()), reload, reading) for reload, reading in repeated]
    while not query.awaitTermination(_seconds_until([each[0] for each in planned])):  # type: ignore[arg-type]
        for place, (moment, reload, reading) in enumerate(planned):
            if moment <= _now():
                reading.read_again()
                planned[place] = (reload.following(moment, _now()), reload, reading)


def _seconds_until(moments: Sequence[datetime]) -> float:
    waits = [(moment - _now()).total_seconds() for moment in moments]
    return min(max(min(waits, default=_LONGEST_WAIT_SECONDS), 0.001), _LONGEST_WAIT_SECONDS)


def _now() -> datetime:
    return datetime.now(UTC)
