"""Where a scan began, kept in the job's folder.

Spark asks for it again if the first batch was not finished: by then `latest` and `earliest` are others.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from millstream.durable_files import read_json, write_json
from millstream.reading.offset_plan import flatten, nest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from millstream.connectors.kafka.read_range import Offsets

_FOLDER: Final = "scan-starts"
_OF_SPARK: Final = "sources/*/0"
_BEFORE_JSON: Final = "\0v1\n"


def keep_starts(folder: Path, scan: str, ask: Callable[[], Offsets], reads: Callable[[str], bool]) -> Offsets:
    """The offsets that were kept, or else what `ask` finds, which is kept."""
    file = folder / _FOLDER / f"{scan}.json"
    kept = read_json(file, _parse)
    if kept is None:
        kept = _find_of_spark(folder, reads)
    if kept is None:
        kept = ask()
        write_json(file, nest(kept))
    return kept


def _parse(content: Any) -> Offsets:
    if not isinstance(content, dict):
        raise TypeError("not offsets by topic")
    return flatten(content)


def _find_of_spark(folder: Path, reads: Callable[[str], bool]) -> Offsets | None:
    """As Spark's own source kept them, for a job that an earlier version has started."""
    for file in sorted(folder.glob(_OF_SPARK)):
        text = file.read_text(encoding="utf-8", errors="replace")
        if not text.startswith(_BEFORE_JSON):
            continue
        try:
            found = flatten(json.loads(text.removeprefix(_BEFORE_JSON)))
        except (ValueError, AttributeError):
            continue
        if found and all(reads(topic) for topic, _ in found):
            return found
    return None
