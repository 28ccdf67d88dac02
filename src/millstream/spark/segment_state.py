"""Keeps segments in Spark's state store, which commits and rolls back with the batch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from millstream.kernels.segment_log import Manifest, Piece, Segment

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


class SparkSegmentLog:
    """One table of the current bucket: a value for the manifest, and a map for the pieces."""

    def __init__(self, manifest: Any, pieces: Any) -> None:
        self._manifest = manifest
        self._pieces = pieces

    @classmethod
    def of(cls, handle: StatefulProcessorHandle, table: str) -> Self:
        return cls(
            handle.getValueState(f"manifest-{table}", "manifest STRING"),
            handle.getMapState(f"segments-{table}", "id STRING", "data BINARY"),
        )

    def manifest(self) -> Manifest:
        stored = self._manifest.get()
        if not stored:
            return Manifest()
        written = json.loads(stored[0])
        segments = (Segment(tuple(Piece(*piece) for piece in pieces)) for pieces in written["segments"])
        return Manifest(tuple(segments), written["swept"], written.get("clock"), written.get("horizon"))

    def save_manifest(self, manifest: Manifest) -> None:
        segments = [[[piece.id, piece.rows, piece.first] for piece in each.pieces] for each in manifest.segments]
        times = {"swept": manifest.swept, "clock": manifest.clock, "horizon": manifest.horizon}
        self._manifest.update((json.dumps({"segments": segments, **times}),))

    def read(self, piece_id: str) -> bytes:
        return bytes(self._pieces.getValue((piece_id,))[0])

    def write(self, piece_id: str, data: bytes) -> None:
        self._pieces.updateValue((piece_id,), (data,))

    def remove(self, piece_id: str) -> None:
        self._pieces.removeKey((piece_id,))
