"""Writes the manifests that a kernel leaves in a job's folder, without its pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.state.manifest import BucketManifest, Piece, Segment, TableManifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def write_manifest(bucket: Path, batch: int, tables: Mapping[str, Sequence[tuple[int, int]]]) -> None:
    """For each table its segments, of one piece each, as rows and bytes."""
    bucket.mkdir(parents=True, exist_ok=True)
    manifest = BucketManifest({name: TableManifest(tuple(map(_segment, sizes))) for name, sizes in tables.items()})
    (bucket / f"{batch}.json").write_bytes(manifest.to_bytes())


def _segment(size: tuple[int, int]) -> Segment:
    rows, length = size
    return Segment((Piece("0-a.arrow", 0, length, 0, rows, 0, rows),))
