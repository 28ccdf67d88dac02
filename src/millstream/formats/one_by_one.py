"""The way of messages into a table where a format has no reader of whole batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.changelog import KIND
from millstream.formats.decoded import Decoded, UnreadableMessages, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Rows = Iterable[Sequence[object]]


class UnreadableMessageError(Exception):
    """Says why, in the words that the user is told."""


def decode_each(
    values: pa.Array,
    schema: pa.Schema,
    rows_of: Callable[[bytes], Rows],
    *,
    sets_aside: bool,
    ignores_errors: bool = False,
) -> Decoded:
    """The rows of the messages; NULL has none. `schema` may have a column KIND; `rows_of` may find one unreadable."""
    unreadable = UnreadableMessages(sets_aside=sets_aside)
    rows: list[Sequence[object]] = []
    origin: list[int] = []
    passed_over: list[int] = []
    for i, message in enumerate(values.to_pylist()):
        if message is None:
            continue
        try:
            found = list(rows_of(message))
        except UnreadableMessageError as error:
            if ignores_errors:
                passed_over.append(i)
            else:
                unreadable.add(i, str(error))
            continue
        rows += found
        origin += [i] * len(found)
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in schema]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    table, kinds = table_of(arrays, schema, len(rows)), None
    if KIND in schema.names:
        table, kinds = table.drop_columns([KIND]), table[KIND].combine_chunks()
    origins = None if origin == list(range(len(values))) else pa.array(origin, pa.int64())
    return Decoded(table, origins, tuple(passed_over), kinds, unreadable.all())
