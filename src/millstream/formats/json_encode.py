"""Encodes Arrow tables as Kafka values in the `json` format, byte for byte as Flink does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.formats.json_column_text import Texts, escape, scalar_texts
from millstream.formats.json_options import JsonOptions
from millstream.formats.json_text import escape_for_bytes
from millstream.formats.json_types import check_types
from millstream.sql.types import INT, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class JsonEncoder:
    """Writes each row as one compact JSON object with its fields in column order."""

    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        options: JsonOptions = JsonOptions(),  # noqa: B008
    ) -> None:
        check_types(columns)
        self._columns = columns
        self._options = options

    def encode(self, table: pa.Table) -> pa.Array:
        """The messages, one per row, never NULL."""
        members = [
            (name, self._texts(table[name].combine_chunks().cast(arrow_type(type_)), type_))
            for name, type_ in self._columns
        ]
        return self._objects(members, table.num_rows).cast(pa.binary())

    def _texts(self, array: pa.Array, type_: DataType) -> Texts:
        match type_.root:
            case TypeRoot.ARRAY:
                return self._array_texts(array, type_)
            case TypeRoot.MAP | TypeRoot.MULTISET:
                return self._map_texts(array, INT if type_.root is TypeRoot.MULTISET else type_.element)
            case TypeRoot.ROW:
                members = [
                    (field.name, self._texts(array.field(i), field.type)) for i, field in enumerate(type_.fields)
                ]
                objects = self._objects(members, len(array))
                if array.null_count:
                    objects = pc.if_else(array.is_valid(), objects, pa.scalar(None, pa.string()))
                return Texts(objects)
            case _:
                return scalar_texts(array, type_, self._options)

    def _objects(self, members: Sequence[tuple[str, Texts]], rows: int) -> pa.Array:
        if not members:
            return pa.repeat("{}", rows)
        if self._options.ignore_null_fields:
            return _objects_without_nulls(members)
        pieces: list[str | pa.Array] = []
        pending = "{"
        for name, texts in members:
            # A NULL is written without quotes, so only a column without NULLs can leave its quotes to its neighbours.
            whole = Texts(texts.complete()) if texts.array.null_count else texts
            pieces += [f"{pending}{_key(name)}{whole.before}", whole.array]
            pending = f"{whole.after},"
        pieces.append(f"{pending[:-1]}}}")
        return pc.binary_join_element_wise(*pieces, "", null_handling="replace", null_replacement="null")

    def _array_texts(self, array: pa.Array, type_: DataType) -> Texts:
        assert type_.element is not None
        offsets = array.offsets.to_numpy()
        elements = array.values.slice(offsets[0], offsets[-1] - offsets[0])
        texts = self._texts(elements, type_.element).complete()
        return Texts(_join_lists(array, offsets - offsets[0], pc.fill_null(texts, "null")), "[", "]")

    def _map_texts(self, array: pa.Array, item_type: DataType | None) -> Texts:
        assert item_type is not None
        offsets = array.offsets.to_numpy()
        keys, items = (part.slice(offsets[0], offsets[-1] - offsets[0]) for part in (array.keys, array.items))
        offsets = offsets - offsets[0]
        texts = pc.fill_null(self._texts(items, item_type).complete(), "null")
        members = pc.binary_join_element_wise('"', escape(keys), '":', texts, "")
        return Texts(_join_lists(array, offsets, members), "{", "}")


def _objects_without_nulls(members: Sequence[tuple[str, Texts]]) -> pa.Array:
    written = [
        pc.binary_join_element_wise(f",{_key(name)}{texts.before}", texts.array, texts.after, "")
        for name, texts in members
    ]
    # Arrow's own way to skip NULLs loses rows in which all values are NULL.
    objects = pc.binary_join_element_wise("{", *written, "}", "", null_handling="replace", null_replacement="")
    return pc.replace_substring(objects, "{,", "{", max_replacements=1)


def _key(name: str) -> str:
    return f'"{escape_for_bytes(name)}":'


def _join_lists(array: pa.Array, offsets: NDArray[np.int32], texts: pa.Array) -> pa.Array:
    """The texts of each list of `array`, joined with commas."""
    mask = array.is_null() if array.null_count else None
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts, mask=mask)
    return pc.binary_join(lists, ",")
