"""The keys and values of messages as structs, made in Python of rows that already exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.changelog import KIND, RowKind
from millstream.spark.changelog import RETRACTIONS
from millstream.spark.job_errors import NullInKeyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RETRACTIONS: Final = pa.array([int(kind) for kind in RETRACTIONS], pa.int8())


@dataclass(frozen=True, slots=True)
class MessageField:
    name: str
    """In the message."""
    column: str
    is_required: bool
    """Whether a NULL fails the job."""


@dataclass(frozen=True, slots=True)
class MessageStruct:
    """The key or the value of a message."""

    name: str
    fields: tuple[MessageField, ...]
    has_kind: bool
    """Whether the format encodes the row kind."""
    skips_retractions: bool
    """Whether a retraction has none."""


def build_structs(
    table: str, structs: Sequence[MessageStruct], beside: Sequence[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """One column per struct, and those of `beside` as they are; `table` is what an error names."""
    for batch in batches:
        columns = [_build(table, struct, batch) for struct in structs]
        kept = [name for name in beside if name in batch.schema.names]
        columns += [batch.column(name) for name in kept]
        yield pa.RecordBatch.from_arrays(columns, [*(struct.name for struct in structs), *kept])


def _build(table: str, struct: MessageStruct, batch: pa.RecordBatch) -> pa.StructArray:
    absent = None
    if struct.skips_retractions and KIND in batch.schema.names:
        absent = pc.is_in(batch.column(KIND), value_set=_RETRACTIONS)
    names, columns = [], []
    for field in struct.fields:
        column = batch.column(field.column)
        if field.is_required and _has_null(column, absent):
            raise NullInKeyError(field.column, table)
        names.append(field.name)
        columns.append(column)
    if struct.has_kind:
        names.append(KIND)
        columns.append(_kinds(batch))
    present = pa.repeat(pa.scalar(value=False), batch.num_rows)  # a struct without fields has its length from the mask
    return pa.StructArray.from_arrays(columns, names, mask=present if absent is None else absent)


def _has_null(column: pa.Array, absent: pa.Array | None) -> bool:
    if not column.null_count:
        return False
    missing = column.is_null() if absent is None else pc.and_not(column.is_null(), absent)
    return bool(pc.any(missing).as_py())


def _kinds(batch: pa.RecordBatch) -> pa.Array:
    if KIND in batch.schema.names:
        return batch.column(KIND).cast(pa.int8())
    return pa.repeat(pa.scalar(int(RowKind.INSERT), pa.int8()), batch.num_rows)
