"""The files that Millstream itself keeps in a checkpoint; all of them are written and read here.

A write is on disk when the call returns, and a crash leaves either the old file or the new one complete. Each file
contains `{"layout": 3, "checksum": …, "content": …}`; those of layout 2 contained only their content.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from millstream.errors import Code, Diagnostic, JobError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")

LAYOUT: Final = 3
_ENVELOPE: Final = {"layout", "checksum", "content"}
_UNFINISHED: Final = ".new"
_HAS_NO_FOLDER_SYNC: Final = (errno.EINVAL, errno.ENOTSUP)
_LONGEST_NAME: Final = 255
_READABLE_PART: Final = 200


class JobFile(StrEnum):
    """In the folder of a job, beside Spark's files; not every job has all of them."""

    DELIVERY = "delivery.json"
    SCAN_ENDS = "scan-ends.json"
    TOPIC_IDS = "topics.json"
    FIRST_START = "first-start"
    FILE_NAMES = "file-names"
    TASKS = "tasks"


def write_json(file: Path, content: Any) -> None:
    envelope = {"layout": LAYOUT, "checksum": _checksum(content), "content": content}
    write_text(file, json.dumps(envelope, indent=2) + "\n")


def read_json(file: Path, parse: Callable[[Any], T], *, parse_layout_2: Callable[[str], Any] = json.loads) -> T | None:
    """The content, parsed by `parse`; None if there is no such file. Raises M5003 if the file is damaged.

    `parse_layout_2` returns the content of a file that was written before there were checksums.
    """
    text = _read(file)
    if text is None:
        return None
    try:
        return parse(_content(file, text, parse_layout_2))
    except json.JSONDecodeError:
        raise damage_error(file, "It is not JSON." if text.strip() else "It is empty.") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise damage_error(file, "It does not have the content of such a file.") from None


def write_text(file: Path, text: str) -> None:
    """Replaces the file: syncs first its content to disk, then its name."""
    unfinished = file.with_name(f"{file.name}{_UNFINISHED}")
    try:
        make_folder(file.parent)
        with unfinished.open("wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(file)
        sync_folder(file.parent)
    except OSError as error:
        raise JobError(
            Diagnostic(
                Code.JOB_FAILED,
                f"file {file} of the checkpoint could not be written",
                detail=f"{error.strerror}.",
                hint="Make the folder writable, or make room on its disk, and start the job again.",
            )
        ) from error


def make_folder(folder: Path) -> None:
    """Including missing parent folders."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Syncs the names in the folder to disk; some network file systems do so anyway and reject the request."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _HAS_NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)


def is_unfinished(file: Path) -> bool:
    """Whether a crash left it behind in the middle of a write."""
    return file.name.endswith(_UNFINISHED)


def shorten_name(quoted: str) -> str:
    """A quoted name as a file name: unchanged if it is short enough, otherwise its beginning and a hash.

    No quoted name contains an `@`, so none can be mistaken for the short form of another.
    """
    if len(quoted) <= _LONGEST_NAME:
        return quoted
    return f"{quoted[:_READABLE_PART]}@{hashlib.sha256(quoted.encode()).hexdigest()[:32]}"


def damage_error(file: Path, why: str) -> JobError:
    return JobError(
        Diagnostic(
            Code.CHECKPOINT_MISMATCH,
            f"file {file} of the checkpoint is damaged",
            detail=why,
            hint="Put the file back if you have a copy, or start over with --fresh.",
        )
    )


def other_layout(file: Path, layout: object) -> JobError:
    return JobError(
        Diagnostic(
            Code.CHECKPOINT_MISMATCH,
            f"file {file} of the checkpoint was written in layout {layout}; this version reads {LAYOUT}",
            hint="Start over with --fresh, or run the version that wrote it.",
        )
    )


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise damage_error(file, "It is not text.") from None
    except OSError as error:
        raise damage_error(file, f"{error.strerror}.") from error


def _content(file: Path, text: str, parse_layout_2: Callable[[str], Any]) -> Any:
    try:
        held = json.loads(text)
    except ValueError:
        return parse_layout_2(text)
    if not (isinstance(held, dict) and held.keys() == _ENVELOPE):
        return parse_layout_2(text)
    if held["layout"] != LAYOUT:
        raise other_layout(file, held["layout"])
    if held["checksum"] != _checksum(held["content"]):
        raise damage_error(file, "It does not match its checksum.")
    return held["content"]


def _checksum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
