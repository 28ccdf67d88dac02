"""Tables that need no broker: rows that are generated, printed, discarded, or stored in files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from millstream.changelog import ALL_CHANGES, INSERT_ONLY
from millstream.connectors.local.paths import find_unreadable_path, find_unwritable_path
from millstream.connectors.lookup_options import LookupSettings
from millstream.connectors.tables import OrdinarySink, OrdinarySource
from millstream.sql.types import INTERVALS, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.catalog.option_places import OptionPlaces
    from millstream.catalog.option_reader import Notice
    from millstream.catalog.table import CatalogTable
    from millstream.changelog import ChangelogMode
    from millstream.connectors.local.file_formats import FileFormat
    from millstream.errors import Diagnostic
    from millstream.sql.types import DataType

_NOT_IN_FILES: Final = INTERVALS | {TypeRoot.TIME}
"""Spark cannot pass intervals to Python, and TIME has a different representation in its files than in messages."""


@dataclass(frozen=True, slots=True)
class Generator:
    """How the values of one column, or of a part of it, are generated."""

    path: str
    """`price`, or `buyer.name` for a part: the text between `fields.` and the option."""
    type: DataType
    sequence: tuple[int, int] | None = None
    """First and last value; None for random values."""
    bounds: tuple[float, float] = (0, 0)
    """Minimum and maximum of a number; those of integers are whole."""
    length: int = 0
    """Of a string, a binary or a collection."""
    varies_in_length: bool = False
    max_past_ms: int = 0
    null_rate: float = 0.0
    parts: tuple[Generator, ...] = ()
    """The fields of a ROW, the element of an ARRAY or MULTISET, key and value of a MAP."""


@dataclass(frozen=True, slots=True)
class DatagenSource(OrdinarySource):
    table: CatalogTable
    generators: tuple[Generator, ...]
    rows_per_second: int
    number_of_rows: int | None
    """After how many rows the source ends: the requested number, or the length of the shortest sequence."""
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    places: OptionPlaces = field(kw_only=True, compare=False, repr=False)
    changelog: ChangelogMode = INSERT_ONLY
    connector: ClassVar = "datagen"

    @property
    def is_bounded(self) -> bool:
        return self.number_of_rows is not None

    @property
    def generated_rows(self) -> int | None:
        return self.number_of_rows

    @property
    def spreads_rows_by_number(self) -> bool:
        return True

    @property
    def summary(self) -> str:
        """As EXPLAIN shows it."""
        return f"rows=[{'endless' if self.number_of_rows is None else self.number_of_rows}]"

    @property
    def reads(self) -> str:
        """What a checkpoint's positions belong to."""
        return f"rows generated for {self.table.name}"


class _InFiles:
    """What reading and writing files have in common."""

    __slots__ = ()
    path: str

    @property
    def folder(self) -> str | None:
        return self.path

    @property
    def unsupported_types(self) -> frozenset[TypeRoot]:
        return _NOT_IN_FILES


@dataclass(frozen=True, slots=True)
class FilesystemSource(_InFiles, OrdinarySource):
    """All files of a folder, or one file; with `monitor_interval_ms`, also those that are added later."""

    table: CatalogTable
    path: str
    format: FileFormat
    monitor_interval_ms: int | None = None
    lookup: LookupSettings = field(default=LookupSettings(), compare=False)
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    places: OptionPlaces = field(kw_only=True, compare=False, repr=False)
    changelog: ChangelogMode = INSERT_ONLY
    connector: ClassVar = "filesystem"

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
    def decoding(self) -> str | None:
        return f"{self.format.name} [Spark]"

    @property
    def obstacle_to_lookup(self) -> str | None:
        if self.is_bounded:
            return None
        return "It is watched for new files, and a lookup reads all of its files, when the job starts and at intervals."

    def find_problems_here(self) -> Iterable[Diagnostic]:
        return find_unreadable_path(self)


@dataclass(frozen=True, slots=True)
class FilesystemSink(_InFiles, OrdinarySink):
    table: CatalogTable
    path: str
    format: FileFormat
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    places: OptionPlaces = field(kw_only=True, compare=False, repr=False)
    accepts: ChangelogMode = INSERT_ONLY
    connector: str = "filesystem"

    def find_problems_here(self) -> Iterable[Diagnostic]:
        return find_unwritable_path(self)


@dataclass(frozen=True, slots=True)
class PrintSink(OrdinarySink):
    table: CatalogTable
    prefix: str = ""
    """What each line starts with: `identifier> `."""
    to_standard_error: bool = False
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    places: OptionPlaces = field(kw_only=True, compare=False, repr=False)
    accepts: ChangelogMode = ALL_CHANGES
    connector: str = "print"

    @property
    def prints_to_standard_error(self) -> bool:
        return self.to_standard_error


@dataclass(frozen=True, slots=True)
class BlackholeSink(OrdinarySink):
    table: CatalogTable
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    places: OptionPlaces = field(kw_only=True, compare=False, repr=False)
    accepts: ChangelogMode = ALL_CHANGES
    connector: str = "blackhole"

    @property
    def ignores_row_kinds(self) -> bool:
        return True
