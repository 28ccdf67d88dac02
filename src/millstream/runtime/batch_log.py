"""Spark's log of batches in a checkpoint: an entry in `offsets` when a batch begins, one in `commits` when it ends.

It is read before Spark reads it, so that damaged files are reported by name and a job knows where it will continue.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.durable_files import damage_error
from millstream.runtime.checksums import is_damaged
from millstream.runtime.progress import flat_offsets
from millstream.spark.tick_numbers import FIRST_TICK

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.connectors.kafka.read_range import Offsets
    from millstream.errors import JobError

_VERSION: Final = "v1"
_NOTHING_READ: Final = "-"


@dataclass(frozen=True, slots=True)
class BatchLog:
    """The batch log of one job; `folder` is the job's checkpoint."""

    folder: Path

    @property
    def last_begun(self) -> int | None:
        return max(self._numbers("offsets"), default=None)

    @property
    def last_finished(self) -> int | None:
        return max(self._numbers("commits"), default=None)

    @property
    def unfinished(self) -> int | None:
        """The batch that has begun and not finished. It is processed again, with the same input, on resuming."""
        begun = self.last_begun
        return None if begun is None or begun == self.last_finished else begun

    def start_time(self, batch: int) -> float:
        """In seconds since the epoch."""
        milliseconds: float = self._json("offsets", batch, self._lines("offsets", batch)[1])["batchTimestampMs"]
        return milliseconds / 1000

    def read_up_to(self) -> list[Offsets]:
        """Where the next batch begins, for each source in the order of the plan; empty before a batch has ended."""
        finished = self.last_finished
        if finished is None:
            return []
        lines = self._lines("offsets", finished)[2:]
        return [flat_offsets({} if line == _NOTHING_READ else self._json("offsets", finished, line)) for line in lines]

    def tick_of(self, batch: int | None) -> int | None:
        """The number of the last tick up to this batch; None if there was none."""
        if batch is None:
            return None
        offsets = (line for line in self._lines("offsets", batch)[2:] if line.isdigit())
        return next((number for number in map(int, offsets) if number >= FIRST_TICK), None)

    def check(self) -> None:
        """Raises an error if Spark could not resume from these files, or would resume from the wrong place."""
        begun, finished = self._numbers("offsets"), self._numbers("commits")
        if not begun and finished:
            raise self._damage_error("offsets", "It is empty, although batches have ended.")
        if not begun:
            return
        self._check_metadata()
        last = max(begun)
        if finished and max(finished) > last:
            raise self._damage_error(f"offsets/{max(finished)}", "It is missing, although the batch has ended.")
        if last > 0 and max(finished, default=-1) < last - 1:
            raise self._damage_error(f"commits/{last - 1}", "It is missing, although a later batch has begun.")
        for kind, numbers in (("offsets", begun), ("commits", finished)):
            for number in sorted(numbers)[-2:]:
                for line in self._lines(kind, number)[1:]:
                    if line != _NOTHING_READ:
                        self._json(kind, number, line)

    def _check_metadata(self) -> None:
        try:
            identity = json.loads(self._text("metadata"))["id"]
        except (ValueError, TypeError, KeyError):
            identity = None
        if not isinstance(identity, str):
            raise self._damage_error("metadata", "It does not name the query.")

    def _numbers(self, kind: str) -> list[int]:
        folder = self.folder / kind
        if folder.exists() and not folder.is_dir():
            raise self._damage_error(kind, "It is not a folder.")
        return [int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()] if folder.exists() else []

    def _lines(self, kind: str, number: int) -> list[str]:
        name = f"{kind}/{number}"
        lines = self._text(name).splitlines()
        if len(lines) < (3 if kind == "offsets" else 2) or lines[0] != _VERSION:
            raise self._damage_error(name, "It is cut off, or was written by another version of Spark.")
        return lines

    def _text(self, name: str) -> str:
        """Spark writes checksums beside these files but does not verify them when it reads the log."""
        file = self.folder / name
        try:
            if is_damaged(file):
                raise self._damage_error(name, "It does not match its checksum.")
            return file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise self._damage_error(name, "It is missing.") from None
        except UnicodeDecodeError:
            raise self._damage_error(name, "It is not text.") from None
        except OSError as error:
            raise self._damage_error(name, f"{error.strerror}.") from error

    def _json(self, kind: str, number: int, line: str) -> Any:
        try:
            return json.loads(line)
        except ValueError:
            raise self._damage_error(f"{kind}/{number}", "A line of it is not JSON.") from None

    def _damage_error(self, name: str, why: str) -> JobError:
        return damage_error(self.folder / name, why)
