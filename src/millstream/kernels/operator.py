"""What the host needs to know of an operator, and all an operator's author needs to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from millstream.kernels.state_table import StateTable

    OpenTable = Callable[[str, tuple[pa.Field, ...], tuple[pa.Field, ...]], StateTable]
    """Gives the state table of a name, with its key and value columns."""

ORDER: Final = "__order"
"""A number per row that rises in order of arrival within a batch, and is the same when the batch is replayed."""


class Kernel(Protocol):
    """One bucket's share of the operator, opened for one batch."""

    ignored: int
    """How many rows took back what was not there."""

    def step(self, parts: Mapping[str, pa.Table]) -> pa.Table: ...


class Operator(Protocol):
    """A stateful operator. `combine` runs before the shuffle, the kernel after it."""

    @property
    def table_names(self) -> tuple[str, ...]: ...

    @property
    def output_schema(self) -> pa.Schema: ...

    @property
    def hashes(self) -> Mapping[str, tuple[str, ...]]:
        """The hash columns `combine` needs, and the columns each is the hash of (none: zero)."""
        ...

    @property
    def needs_order(self) -> bool:
        """Whether `combine` needs the `__order` column."""
        ...

    def combine(self, batch: pa.Table) -> dict[str, pa.Table]: ...

    def open(self, open_table: OpenTable) -> Kernel: ...
