"""What the state of a bucket consists of: one small file per batch that changed it.

The format is `{"layout": 2, "checksum": …, "previous": …, "tables": …}`; a piece is a list of its fields, in order.
Layout 3 is the same with tables whose rows add up, which versions that only know 2 would misread.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LAYOUT: Final = 2
_LAYOUT_OF_SUMS: Final = 3
_SUMMED: Final = "summed"


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows sorted by key hash: the whole of a file, or a part of one. A filter of their hashes, then an Arrow file."""

    file: str
    offset: int
    length: int
    checksum: int
    """CRC-32 of its bytes."""
    rows: int
    first: int
    """Its least hash."""
    last: int
    """Its greatest hash."""
    filter_length: int = 0
    """How many of its bytes are the filter; few rows have none."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows sorted by key hash, in pieces that are small enough to be read and written as a whole.

    All rows of a hash lie in one piece.
    """

    pieces: tuple[Piece, ...]
    replaced: int = 0
    """About how many rows of older segments are out of date because of this one."""

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class TableManifest:
    """What a table consists of, the oldest segment first."""

    segments: tuple[Segment, ...] = ()
    swept: int | None = None
    """When the whole table was last searched for expired rows; None where rows do not expire."""
    clock: int | None = None
    """The latest time at which the table was opened with a TTL: its own time never runs backwards."""
    horizon: int | None = None
    """Rows last written at this time or earlier have expired, whatever TTL comes later."""
    numbered: int = 0
    """How many numbers the table has given to its rows."""
    summed: str | None = None
    """The column that is added up over all rows of a key; None where only the newest counts."""

    @property
    def pieces(self) -> Iterator[Piece]:
        return (piece for segment in self.segments for piece in segment.pieces)


@dataclass(frozen=True, slots=True)
class BucketManifest:
    tables: Mapping[str, TableManifest] = field(default_factory=dict)
    previous: int | None = None
    """The batch from whose manifest this one was made; None where the bucket was empty."""

    @property
    def files(self) -> set[str]:
        """The names of all files that hold its pieces."""
        return {piece.file for table in self.tables.values() for piece in table.pieces}

    def to_bytes(self) -> bytes:
        tables = {name: _table_to_json(table) for name, table in self.tables.items()}
        content = {"previous": self.previous, "tables": tables}
        layout = _LAYOUT_OF_SUMS if any(table.summed for table in self.tables.values()) else LAYOUT
        return json.dumps({"layout": layout, "checksum": _checksum(content), **content}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> BucketManifest:
        """Raises ValueError, which says why, if the bytes are not those of a manifest."""
        try:
            content = json.loads(data)
            layout, checksum = content.pop("layout"), content.pop("checksum")
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ValueError("It is not a manifest." if data.strip() else "It is empty.") from None
        if layout not in (LAYOUT, _LAYOUT_OF_SUMS):
            raise ValueError(f"It was written in layout {layout}; this version reads {LAYOUT} and {_LAYOUT_OF_SUMS}.")
        if checksum != _checksum(content):
            raise ValueError("It does not match its checksum.")
        tables = {name: _table_from_json(table) for name, table in content["tables"].items()}
        return cls(tables, content["previous"])


def _table_to_json(table: TableManifest) -> dict[str, Any]:
    segments = [[segment.replaced, [list(astuple(piece)) for piece in segment.pieces]] for segment in table.segments]
    times = {"swept": table.swept, "clock": table.clock, "horizon": table.horizon}
    summed = {_SUMMED: table.summed} if table.summed else {}
    return {"segments": segments, **times, "numbered": table.numbered, **summed}


def _table_from_json(table: Mapping[str, Any]) -> TableManifest:
    segments = tuple(
        Segment(tuple(Piece(*piece) for piece in pieces), replaced) for replaced, pieces in table["segments"]
    )
    times = (table["swept"], table["clock"], table["horizon"])
    return TableManifest(segments, *times, table["numbered"], table.get(_SUMMED))


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
