"""The interface between a stateful operator and its host: everything that the author of an operator implements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from millstream.state.state_table import StateTable

ORDER: Final = "__order"
"""A number per row that increases in order of arrival within a batch, and is the same if the batch is repeated."""
ROWS: Final = "rows"
"""The name of the input of an operator that has only one."""
LEFT: Final = "left"
RIGHT: Final = "right"
"""The inputs of a join."""

MAX_WATERMARK: Final = (1 << 63) - 1
"""That of a job whose input has ended: no row is expected any more."""

Parts: TypeAlias = Mapping[str, pa.Table]
"""The result of `combine` for a batch, by name. Each part has `__hash`, which decides where its rows go."""
OpenTable: TypeAlias = "Callable[[str], StateTable]"
"""Opens one of the operator's `state_tables` by its name."""


@dataclass(frozen=True, slots=True)
class StateTableSpec:
    """The columns of a state table: one row per key."""

    keys: tuple[pa.Field, ...]
    values: tuple[pa.Field, ...]
    ttl_ms: int | None = None
    """How long its rows live after they were last written, 0 for ever; None is as the host says."""
    summed: str | None = None
    """The value that is added up over all rows of a key, if they are put without a lookup."""


@dataclass(frozen=True, slots=True)
class BatchTime:
    """What a kernel may know about time, in milliseconds since the epoch. A repeated batch has the same.

    An operator that needs time sees neither clock go back.
    """

    now: int = 0
    """When the batch began."""
    watermark: int | None = None
    """After the batch, no row with an event time at or below it is expected; None while an input says nothing."""
    before: int | None = None
    """The watermark after the batch before: rows with an event time at or below it are late."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a kernel for one bucket of a batch."""

    changes: Iterable[pa.Table]
    """Tables with the operator's output schema, in order; can be iterated once, as each may be computed on demand."""
    ignored: int = 0
    """How many retractions found no row to retract."""
    late: int = 0
    """How many rows were dropped because event time had passed them before the batch."""


class Kernel(Protocol):
    """The state of an operator for one bucket, opened for one batch."""

    def step(self, parts: Parts, time: BatchTime, /) -> StepResult:
        """Receives the parts of any number of `combine` calls, concatenated by name; parts without rows are missing.

        An operator that needs time must expect a step without any part.
        """
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
    def needs_time(self) -> bool:
        """Whether it needs a watermark, and a step of every bucket when the job ticks or event time advances.

        The rows of its inputs then carry their event time up to `combine`.
        """
        ...

    @property
    def watermark_delay_ms(self) -> int:
        """By how much the event time of its rows may lie behind its own watermark."""
        ...

    def hashes(self, input_name: str, /) -> Mapping[str, tuple[str, ...]]:
        """The hash columns that `combine` needs, and the columns each is the hash of (none: zero)."""
        ...

    def needs_order(self, input_name: str, /) -> bool:
        """Whether `combine` needs the `__order` column."""
        ...

    def combine(self, input_name: str, batch: pa.Table, /) -> Parts:
        """The parts of one batch of an input. Two inputs never have parts of the same name."""
        ...

    def open(self, open_table: OpenTable, /) -> Kernel: ...
