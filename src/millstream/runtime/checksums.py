"""The checksums that Spark's file system writes beside each file of a checkpoint, `.x.crc` beside `x`."""

from __future__ import annotations

import struct
import zlib
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, JobError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from millstream.errors import MillstreamError

_HEADER: Final = struct.Struct(">4sI")
"""`crc` and the length of a piece; a CRC32 of each piece follows."""
_FILES_NAMED: Final = 5
_CHECKSUM: Final = struct.Struct(">I")


def is_damaged(file: Path) -> bool:
    """Whether the file does not match its checksums; False if it has none."""
    beside = file.with_name(f".{file.name}.crc")
    if not beside.exists():
        return False
    checksums = beside.read_bytes()
    if len(checksums) < _HEADER.size or len(checksums) % _CHECKSUM.size:
        return False  # the checksums themselves are damaged
    length = max(_HEADER.unpack_from(checksums)[1], 1)
    stored = (number for (number,) in _CHECKSUM.iter_unpack(checksums[_HEADER.size :]))
    return any(found != wanted for found, wanted in zip_longest(_compute_checksums(file, length), stored))


def find_damaged_files(folder: Path) -> list[Path]:
    """All files below the folder that do not match their checksums."""
    files = (beside.with_name(beside.name[1:].removesuffix(".crc")) for beside in sorted(folder.rglob(".*.crc")))
    return [file for file in files if file.exists() and is_damaged(file)]


def damaged_checkpoint_error(job: str, files: Sequence[Path], failure: MillstreamError) -> JobError:
    """The original failure becomes the cause of the error."""
    names = ", ".join(str(file) for file in files[:_FILES_NAMED])
    error = JobError(
        Diagnostic(
            Code.CHECKPOINT_MISMATCH,
            f'the checkpoint of job "{job}" is damaged',
            detail=f"These files do not match their checksums: {names}.",
            hint="Put its files back if you have a copy, or start over with --fresh.",
        )
    )
    error.__cause__ = failure.__cause__
    return error


def _compute_checksums(file: Path, length: int) -> Iterator[int]:
    with file.open("rb") as content:
        while piece := content.read(length):
            yield zlib.crc32(piece)
