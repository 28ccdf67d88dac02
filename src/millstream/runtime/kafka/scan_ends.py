"""The ends of bounded scans, stored beside a job's checkpoint: a restarted job has the same end as before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.durable_files import JobFile, read_json, write_json
from millstream.reading.offset_plan import nest
from millstream.runtime.progress import flat_offsets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from millstream.connectors.kafka.read_range import Offsets


def read_kept_ends(folder: Path) -> list[Offsets | None]:
    """For each scan of the job, in the order of the plan; empty if nothing was stored."""
    return read_json(folder / JobFile.SCAN_ENDS, _parse_ends) or []


def keep_ends(folder: Path, ends: Sequence[Offsets | None]) -> None:
    if all(end is None for end in ends):
        return
    write_json(folder / JobFile.SCAN_ENDS, [None if end is None else nest(end) for end in ends])


def _parse_ends(content: Any) -> list[Offsets | None]:
    if not isinstance(content, list):
        raise TypeError("not a list of scans")
    return [None if ends is None else flat_offsets(ends) for ends in content]
