"""The column types that the csv format supports."""

from __future__ import annotations

from typing import Final

from millstream.formats.json_types import parts
from millstream.sql.types import INTERVALS, DataType, TypeRoot

_MILLIS: Final = 3
_NOT_FLAT: Final = INTERVALS | {TypeRoot.MAP, TypeRoot.MULTISET}


def not_in_csv(type_: DataType) -> str | None:
    """Why a column of this type is not supported, or None."""
    if type_.root in (TypeRoot.ARRAY, TypeRoot.ROW):
        for part in parts(type_):
            if part.root in (TypeRoot.ARRAY, TypeRoot.ROW) or part.root in _NOT_FLAT:
                return f"Only simple types can be nested in {type_.root}, not {part}"
            if why := not_in_csv(part):
                return why
        return None
    if type_.root in _NOT_FLAT:
        return f"A line of fields has no form for {type_.root}"
    if type_.root is TypeRoot.TIME and (type_.precision or 0) > _MILLIS:
        return f"It does not support TIME with precision {type_.precision}, only 0 to {_MILLIS}"
    return None
