"""Times of day for display: inside a job they are numbers, and only the declared types identify them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.formats.json_types import holds
from millstream.sql.types import INT, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable


def with_clock_times(rows: pa.Table, columns: Iterable[tuple[str, DataType | None]]) -> pa.Table:
    """The rows, with Arrow's time type in columns that are or contain a TIME."""
    for name, type_ in columns:
        if type_ is not None and holds(type_, TypeRoot.TIME):
            at = rows.schema.get_field_index(name)
            rows = rows.set_column(at, name, rows.column(at).cast(_text_type(rows.column(at).type, type_)))
    return rows


def _text_type(found: pa.DataType, type_: DataType) -> pa.DataType:
    match type_.root:
        case TypeRoot.TIME:
            return pa.time32("ms")
        case TypeRoot.ARRAY:
            assert type_.element is not None
            return pa.list_(_text_type(found.value_type, type_.element))
        case TypeRoot.MAP | TypeRoot.MULTISET:
            assert type_.element is not None
            key, item = (type_.element, INT) if type_.key is None else (type_.key, type_.element)
            return pa.map_(_text_type(found.key_type, key), _text_type(found.item_type, item))
        case TypeRoot.ROW:
            return pa.struct(
                [
                    pa.field(field.name, _text_type(found.field(i).type, field.type))
                    for i, field in enumerate(type_.fields)
                ]
            )
        case _:
            return found
