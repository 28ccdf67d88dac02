"""The ends of bounded scans, kept beside a job's checkpoint: a restarted job ends where it was to end at first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from millstream.runtime.progress import flat_offsets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from millstream.connectors.kafka_range import Offsets

_FILE: Final = "scan-ends.json"


def kept_ends(folder: Path) -> list[Offsets | None]:
    """Per place where the job reads a table, in the order of the plan; nothing where nothing was kept."""
    try:
        kept = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return [None if ends is None else flat_offsets(ends) for ends in kept]


def keep_ends(folder: Path, ends: Sequence[Offsets | None]) -> None:
    if all(end is None for end in ends):
        return
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{_FILE}.new"
    unfinished.write_text(json.dumps([None if end is None else by_topic(end) for end in ends]), encoding="utf-8")
    unfinished.replace(folder / _FILE)


def by_topic(offsets: Offsets) -> dict[str, dict[str, int]]:
    """As Spark writes them."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[str(partition)] = offset
    return found
