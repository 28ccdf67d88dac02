"""The interface between a table and the queries that read or write it, whatever its connector.

The plan and the runtime use only this interface; a connector implements it with a frozen dataclass. `OrdinarySource`
and `OrdinarySink` have defaults for what few connectors answer differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from millstream.sql.types import INTERVALS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import timedelta

    from millstream.catalog.option_places import OptionPlaces
    from millstream.catalog.option_reader import Notice
    from millstream.catalog.table import CatalogTable
    from millstream.changelog import ChangelogMode
    from millstream.errors import Diagnostic
    from millstream.sql.types import TypeRoot


class ConnectedTable(Protocol):
    """What sources and sinks have in common."""

    @property
    def table(self) -> CatalogTable: ...

    @property
    def connector(self) -> str:
        """As in the option 'connector'."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices for the user."""

    @property
    def places(self) -> OptionPlaces:
        """Where its options are written."""

    @property
    def folder(self) -> str | None:
        """The folder or the single file that contains its rows; None if they are not in files."""

    @property
    def unsupported_types(self) -> frozenset[TypeRoot]:
        """Types that its columns may be declared with, but that no job can read or write."""

    def find_unsupported(self) -> Iterable[Diagnostic]:
        """Options that no job supports; follows from the script alone."""

    def find_problems_here(self) -> Iterable[Diagnostic]:
        """Problems that prevent a job that is about to start from using it on this machine."""


class Source(ConnectedTable, Protocol):
    """A table as a query reads it."""

    @property
    def changelog(self) -> ChangelogMode:
        """The row kinds that it produces."""

    @property
    def is_bounded(self) -> bool:
        """Whether it ends by itself."""

    @property
    def summary(self) -> str:
        """As EXPLAIN shows it."""

    @property
    def reads(self) -> str:
        """What the positions in a checkpoint refer to."""

    @property
    def reads_committed(self) -> bool | None:
        """Whether rows of open and aborted transactions are skipped; None if there are no transactions."""

    @property
    def has_dead_letters(self) -> bool:
        """Whether unreadable messages are set aside instead of failing the job."""

    @property
    def generated_rows(self) -> int | None:
        """The number of rows of a bounded generator; None for any other source."""

    @property
    def decoding(self) -> str | None:
        """What is decoded and where, as EXPLAIN shows it; None if nothing is decoded."""

    def gives_rows_in_python(self, columns: Collection[str]) -> bool:
        """Whether these columns are in Python when they have been read, and nothing of Spark's is left to do."""

    def decodes_fields_alone(self, column: str) -> bool:
        """Whether of a column that holds rows, only some fields can be decoded."""

    @property
    def idle_timeout(self) -> timedelta | None:
        """After how long without rows a split no longer holds the watermark back; None as the job's settings say."""

    @property
    def obstacle_to_lookup(self) -> str | None:
        """Why a job cannot look up its current rows at any time, as a sentence; None if it can."""

    @property
    def spreads_rows_by_number(self) -> bool:
        """Whether rows are assigned to tasks by their number, and not by the partition or file that contains them."""


class Sink(ConnectedTable, Protocol):
    """A table as a query writes it."""

    @property
    def accepts(self) -> ChangelogMode:
        """The row kinds that it accepts."""

    @property
    def ignores_row_kinds(self) -> bool:
        """Whether inserts and updates look the same in it."""

    @property
    def retracts_by_key(self) -> bool:
        """Whether it accepts updates and deletes once it has a primary key."""

    @property
    def parallelism(self) -> int | None:
        """The number of tasks that its rows are spread over; None to write them where they are."""

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        """The columns by which rows are spread over `parallelism` tasks; empty for all columns."""

    @property
    def is_exactly_once(self) -> bool:
        """Whether each row is to be written exactly once, whatever fails."""

    @property
    def is_kafka(self) -> bool:
        """Whether rows are written as messages."""

    @property
    def depends_on_tasks(self) -> bool:
        """Whether the number of a task decides where its rows go."""

    @property
    def folds_changes(self) -> bool:
        """Whether only the last of several changes of a key must be written: each message is the key's whole row."""

    @property
    def encodes_in_python(self) -> bool:
        """Whether messages are made of columns alone, by encoders in Python."""

    @property
    def prints_to_standard_error(self) -> bool: ...


class _OrdinaryTable:
    """Not stored in files, and independent of the machine."""

    __slots__ = ()

    @property
    def folder(self) -> str | None:
        return None

    @property
    def unsupported_types(self) -> frozenset[TypeRoot]:
        return INTERVALS

    def find_unsupported(self) -> Iterable[Diagnostic]:
        return ()

    def find_problems_here(self) -> Iterable[Diagnostic]:
        return ()


class OrdinarySource(_OrdinaryTable):
    """Rows that are stored somewhere, without transactions."""

    __slots__ = ()

    @property
    def reads_committed(self) -> bool | None:
        return None

    @property
    def has_dead_letters(self) -> bool:
        return False

    @property
    def generated_rows(self) -> int | None:
        return None

    @property
    def decoding(self) -> str | None:
        return None

    def gives_rows_in_python(self, columns: Collection[str]) -> bool:  # noqa: ARG002
        return False

    def decodes_fields_alone(self, column: str) -> bool:  # noqa: ARG002
        return False

    @property
    def idle_timeout(self) -> timedelta | None:
        return None

    @property
    def obstacle_to_lookup(self) -> str | None:
        return "Its connector cannot tell which rows it has at the moment."

    @property
    def spreads_rows_by_number(self) -> bool:
        return False


class OrdinarySink(_OrdinaryTable):
    """A sink of Spark's that writes rows where they are."""

    __slots__ = ()

    @property
    def ignores_row_kinds(self) -> bool:
        return False

    @property
    def retracts_by_key(self) -> bool:
        return False

    @property
    def parallelism(self) -> int | None:
        return None

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return ()

    @property
    def is_exactly_once(self) -> bool:
        return False

    @property
    def is_kafka(self) -> bool:
        return False

    @property
    def depends_on_tasks(self) -> bool:
        return False

    @property
    def folds_changes(self) -> bool:
        return False

    @property
    def encodes_in_python(self) -> bool:
        return False

    @property
    def prints_to_standard_error(self) -> bool:
        return False
