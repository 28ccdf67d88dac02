"""What ties a checkpoint to a place and a cluster, rewritten for another: nothing that a user could or should do.

- The paths of files that were read, in what Spark notes of them. Those of its own files stay as they were: a checkpoint
  may be moved.
- The ids of topics in `topics.json`, and that of the cluster in `delivery.json`: a topic of the same name, filled with
  the same messages, is to pass for the one that was read.
- The time at which an unfinished batch began: exactly-once trusts the progress of writers for a few days only.

Everything else is as the version that made the checkpoint left it, with its layout.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def replace_in_files(folder: Path, before: str, after: str) -> None:
    """In all files, which must be text if `before` occurs in them; their checksums are removed."""
    for file in (each for each in folder.rglob("*") if each.is_file()):
        content = file.read_bytes()
        if before.encode() in content:
            file.write_text(content.decode().replace(before, after))
            _drop_checksum(file)


def replace_content(file: Path, change: Callable[[Any], Any]) -> None:
    """In one of Millstream's own files, keeping its layout."""
    if not file.exists():
        return
    held = json.loads(file.read_text())
    content = change(held["content"])
    checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps({**held, "checksum": checksum, "content": content}, indent=2) + "\n")


def replace_begin(offsets: Path, milliseconds: int) -> None:
    """When a batch began, in its file in `offsets`."""
    text, count = re.subn(r'"batchTimestampMs":\d+', f'"batchTimestampMs":{milliseconds}', offsets.read_text())
    assert count == 1
    offsets.write_text(text)
    _drop_checksum(offsets)


def _drop_checksum(file: Path) -> None:
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
