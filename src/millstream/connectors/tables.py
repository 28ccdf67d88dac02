"""What a table is to a query that reads or writes it, whatever connects it.

The plan and the runtime ask these questions and know no connector; a connector answers them with a frozen dataclass.
`OrdinarySource` and `OrdinarySink` answer those that few connectors have an answer of their own to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from millstream.sql.types import INTERVALS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from millstream.catalog.option_places import OptionPlaces
    from millstream.catalog.option_reader import Notice
    from millstream.catalog.table import CatalogTable
    from millstream.changelog import ChangelogMode
    from millstream.errors import Diagnostic
    from millstream.sql.types import TypeRoot


class ConnectedTable(Protocol):
    """What is asked of sources and sinks alike."""

    @property
    def table(self) -> CatalogTable: ...

    @property
    def connector(self) -> str:
        """As the option names it."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices for the user."""

    @property
    def places(self) -> OptionPlaces:
        """Where its options are written."""

    @property
    def folder(self) -> str | None:
        """The folder, or the one file, that its rows are kept in; None where they are not in files."""

    @property
    def unsupported_types(self) -> frozenset[TypeRoot]:
        """Types that its columns may be declared with and no job can read or write."""

    def find_unsupported(self) -> Iterable[Diagnostic]:
        """What its options say and no job can do: known from the script alone."""

    def find_problems_here(self) -> Iterable[Diagnostic]:
        """What keeps a job that is about to start from using it on this machine."""


class Source(ConnectedTable, Protocol):
    """A table as a query reads it."""

    @property
    def changelog(self) -> ChangelogMode:
        """The kinds of change that it gives."""

    @property
    def is_bounded(self) -> bool:
        """Whether it comes to an end by itself."""

    @property
    def summary(self) -> str:
        """As EXPLAIN shows it."""

    @property
    def reads(self) -> str:
        """What a checkpoint's positions belong to."""

    @property
    def reads_committed(self) -> bool | None:
        """Whether rows of open and aborted transactions are passed over; None where there are no transactions."""

    @property
    def has_dead_letters(self) -> bool:
        """Whether messages that cannot be read are set aside instead of failing the job."""

    @property
    def generated_rows(self) -> int | None:
        """How many rows a generator that ends gives; None for any other source."""

    @property
    def decoding(self) -> str | None:
        """What is decoded and where, as EXPLAIN shows it; None where there is nothing to decode."""

    @property
    def spreads_rows_by_number(self) -> bool:
        """Whether its rows come to tasks by their number, and not by a partition or file that holds them."""


class Sink(ConnectedTable, Protocol):
    """A table as a query writes it."""

    @property
    def accepts(self) -> ChangelogMode:
        """The kinds of change that it takes."""

    @property
    def ignores_row_kinds(self) -> bool:
        """Whether nobody can tell an insert from an update in it."""

    @property
    def retracts_by_key(self) -> bool:
        """Whether it takes updates and deletes as soon as it has a primary key."""

    @property
    def parallelism(self) -> int | None:
        """Over how many tasks its rows are spread; None where they are written where they are."""

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        """The columns by which rows are spread over `parallelism` tasks; none for all columns."""

    @property
    def is_exactly_once(self) -> bool:
        """Whether each row is to be written once, whatever fails."""

    @property
    def is_kafka(self) -> bool:
        """Whether rows are written as messages."""

    @property
    def folds_changes(self) -> bool:
        """Whether of several changes of a key only the last need be written: each message is the key's whole row."""

    @property
    def needs_own_producer(self) -> bool:
        """Whether producers of ours write it, since Spark's sink cannot."""

    @property
    def writer_options(self) -> Mapping[str, str] | None:
        """What the sinks of a statement set must have in common; None where a set cannot write to it."""

    @property
    def prints_to_standard_error(self) -> bool: ...


class _OrdinaryTable:
    """Neither in files nor particular about where it runs."""

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
    """Rows that are stored somewhere, and have no transactions."""

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

    @property
    def spreads_rows_by_number(self) -> bool:
        return False


class OrdinarySink(_OrdinaryTable):
    """A sink of Spark's that takes rows where they are."""

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
    def folds_changes(self) -> bool:
        return False

    @property
    def needs_own_producer(self) -> bool:
        return False

    @property
    def writer_options(self) -> Mapping[str, str] | None:
        return None

    @property
    def prints_to_standard_error(self) -> bool:
        return False
