"""Tables that need no broker: rows that are made up, printed, thrown away, or kept in files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import unquote, urlsplit

from millstream.changelog import ALL_CHANGES, INSERT_ONLY

if TYPE_CHECKING:
    from millstream.catalog.option_reader import Notice
    from millstream.catalog.table import CatalogTable
    from millstream.changelog import ChangelogMode
    from millstream.connectors.local.file_formats import FileFormat
    from millstream.sql.types import DataType


@dataclass(frozen=True, slots=True)
class Generator:
    """How the values of one column, or of a part of it, are made up."""

    path: str
    """`price`, or `buyer.name` for a part: what stands between `fields.` and the option."""
    type: DataType
    sequence: tuple[int, int] | None = None
    """First and last value; None for random values."""
    bounds: tuple[float, float] = (0, 0)
    """Least and greatest value of a number; those of integers are whole."""
    length: int = 0
    """Of a text, a binary or a collection."""
    varies_in_length: bool = False
    max_past_ms: int = 0
    null_rate: float = 0.0
    parts: tuple[Generator, ...] = ()
    """The fields of a ROW, the element of an ARRAY or MULTISET, key and value of a MAP."""


@dataclass(frozen=True, slots=True)
class DatagenSource:
    table: CatalogTable
    generators: tuple[Generator, ...]
    rows_per_second: int
    number_of_rows: int | None
    """What the source ends after: the number asked for, or the length of the shortest sequence."""
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    changelog: ChangelogMode = INSERT_ONLY

    @property
    def is_bounded(self) -> bool:
        return self.number_of_rows is not None

    @property
    def summary(self) -> str:
        """As EXPLAIN shows it."""
        return f"rows=[{'endless' if self.number_of_rows is None else self.number_of_rows}]"

    @property
    def reads(self) -> str:
        """What a checkpoint's positions belong to."""
        return f"rows generated for {self.table.name}"

    @property
    def generated_rows(self) -> int | None:
        """How many rows there are, where that is known before they are read."""
        return self.number_of_rows

    @property
    def decoding(self) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class FilesystemSource:
    """All files of a folder, or one file; with `monitor_interval_ms` those that come later too."""

    table: CatalogTable
    path: str
    format: FileFormat
    monitor_interval_ms: int | None = None
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    changelog: ChangelogMode = INSERT_ONLY

    @property
    def is_bounded(self) -> bool:
        return self.monitor_interval_ms is None

    @property
    def summary(self) -> str:
        return f"path=[{self.path}], format=[{self.format.name}]"

    @property
    def reads(self) -> str:
        return f"files of {self.path}"

    @property
    def generated_rows(self) -> int | None:
        return None

    @property
    def decoding(self) -> str | None:
        return f"{self.format.name} [Spark]"


class LocalSink:
    """What sinks without a broker have in common."""

    __slots__ = ()

    is_kafka: ClassVar = False
    needs_own_producer: ClassVar = False
    folds_changes: ClassVar = False
    parallelism: ClassVar = None
    ignores_row_kinds: ClassVar = False


@dataclass(frozen=True, slots=True)
class FilesystemSink(LocalSink):
    table: CatalogTable
    path: str
    format: FileFormat
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    accepts: ChangelogMode = INSERT_ONLY
    connector: str = "filesystem"


@dataclass(frozen=True, slots=True)
class PrintSink(LocalSink):
    table: CatalogTable
    prefix: str = ""
    """What each line starts with: `identifier> `."""
    to_standard_error: bool = False
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    accepts: ChangelogMode = ALL_CHANGES
    connector: str = "print"


@dataclass(frozen=True, slots=True)
class BlackholeSink(LocalSink):
    ignores_row_kinds: ClassVar = True
    """Nobody looks at what it is given."""

    table: CatalogTable
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    accepts: ChangelogMode = ALL_CHANGES
    connector: str = "blackhole"


_LOCAL_SCHEMES: Final = ("", "file")


def local_path(path: str) -> Path | None:
    """Where a path is on this machine, relative ones from the current folder; None for another file system."""
    parts = urlsplit(path)
    if parts.scheme not in _LOCAL_SCHEMES:
        return None
    return Path(unquote(parts.path) if parts.scheme else path).absolute()
