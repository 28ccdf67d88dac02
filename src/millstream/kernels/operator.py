"""The contract between a stateful operator and its host: all that an operator's author needs to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from millstream.state.state_table import StateTable

ORDER: Final = "__order"
"""A number per row that rises in order of arrival within a batch, and is the same when the batch is replayed."""
ROWS: Final = "rows"
"""The input of an operator that has just one."""
LEFT: Final = "left"
RIGHT: Final = "right"
"""The inputs of a join."""

Parts: TypeAlias = Mapping[str, pa.Table]
"""What `combine` makes of a batch, by name. Each part has `__hash`, which says where its rows go."""
OpenTable: TypeAlias = "Callable[[str], StateTable]"
"""Opens one of the operator's `state_tables` by its name."""


@dataclass(frozen=True, slots=True)
class StateTableSpec:
    """The columns of a state table: one row per key."""

    keys: tuple[pa.Field, ...]
    values: tuple[pa.Field, ...]


@dataclass(frozen=True, slots=True)
class BatchTime:
    """What a kernel may know of time; in milliseconds since the epoch."""

    watermark: int | None = None
    """No row with an event time at or below it is expected any more; None where no input has one."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a kernel made of one bucket's share of a batch."""

    changes: Iterable[pa.Table]
    """Tables of the operator's output schema, in order; to be read once, as each may be made when it is asked for."""
    ignored: int = 0
    """How many retractions found no row to retract."""
    wake_at: int | None = None
    """The time at which the kernel wants a step even if no rows come."""


class Kernel(Protocol):
    """One bucket's share of the operator, opened for one batch."""

    def step(self, parts: Parts, time: BatchTime, /) -> StepResult:
        """Takes the parts of any number of `combine` calls, each put together; one without rows is missing."""
        ...


class Operator(Protocol):
    """A stateful operator. `combine` runs before the shuffle, the kernel after it."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs: `rows`, or `left` and `right`."""
        ...

    @property
    def output_schema(self) -> pa.Schema: ...

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        """All state that the operator keeps."""
        ...

    @property
    def may_ask_for_wakeup(self) -> bool:
        """Whether a step may give a `wake_at`. The host on `transformWithState` has no timers and refuses those."""
        ...

    def hashes(self, input_name: str, /) -> Mapping[str, tuple[str, ...]]:
        """The hash columns that `combine` needs, and the columns each is the hash of (none: zero)."""
        ...

    def needs_order(self, input_name: str, /) -> bool:
        """Whether `combine` needs the `__order` column."""
        ...

    def combine(self, input_name: str, batch: pa.Table, /) -> Parts:
        """The parts of one batch of an input. Two inputs never give parts of the same name."""
        ...

    def open(self, open_table: OpenTable, /) -> Kernel: ...
