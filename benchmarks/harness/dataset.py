"""What a dataset is: a table, and the messages that fill its topic."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl


@dataclass(frozen=True, slots=True)
class Messages:
    """A part of a topic: rows, and what is sent for each."""

    rows: pl.DataFrame
    keys: list[bytes] | None
    values: list[bytes | None]
    partitions: list[int]
    topic: str = ""
    """The end of its topic's name, where a dataset has several."""


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    table: str
    """Columns and, for an upsert table, the primary key, as in CREATE TABLE."""
    options: str
    """Connector and format."""
    generate: Callable[[int], Iterator[Messages]]
    """About so many rows, in chunks, always the same."""
    topics: tuple[str, ...] = ("",)
    """The ends of the names of its topics."""

    def fingerprint(self, rows: int) -> str:
        """Of what is sent first."""
        first = next(self.generate(rows))
        return hashlib.sha256(b"".join(value or b"" for value in first.values)).hexdigest()[:16]
