"""Which jobs a checkpoint holds, with a description of their state: `millstream.json`, and where their folders are."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from millstream.durable_files import LAYOUT, damage_error, other_layout, read_json, shorten_name, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

MARKER: Final = "millstream.json"
CLEARING: Final = "clearing"
"""Exists while a checkpoint is being removed: what is left of it is not one any more."""
JOBS: Final = "jobs"
KERNELS: Final = "kernels"
_LAYOUT_2: Final = 2


def read_jobs(root: Path) -> dict[str, Any]:
    """What is known of each job, by its name; nothing where there is no checkpoint. Takes no lock."""
    if (root / CLEARING).exists():
        return {}
    return read_json(root / MARKER, _parse_jobs, parse_layout_2=_layout_2(root)) or {}


def write_jobs(root: Path, jobs: Mapping[str, Any]) -> None:
    write_json(root / MARKER, {"jobs": jobs})


def job_folder(root: Path, job: str) -> Path:
    """Escapes the name: a table may be called `../x`, and a statement set's name may be too long for a file."""
    return root / JOBS / shorten_name(quote(job, safe="").replace(".", "%2E"))


def _parse_jobs(content: dict[str, Any]) -> dict[str, Any]:
    jobs = dict(content["jobs"])
    for job in jobs.values():
        if not (isinstance(job["state"], list | dict) and isinstance(job["buckets"], int)):
            raise TypeError("a job in it is not described as jobs are")
    return jobs


def _layout_2(root: Path) -> Callable[[str], dict[str, Any]]:
    """Reads a marker of layout 2, which later versions extended by a checksum of its jobs."""

    def parse(text: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(text)
        if content["layout"] == LAYOUT:
            raise ValueError("its own layout has other keys")
        if content["layout"] != _LAYOUT_2:
            raise other_layout(root / MARKER, content["layout"])
        checksum = hashlib.sha256(json.dumps(content["jobs"], sort_keys=True).encode()).hexdigest()[:16]
        if content.get("checksum", checksum) != checksum:
            raise damage_error(root / MARKER, "It does not match its checksum.")
        return content

    return parse
