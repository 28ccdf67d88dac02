"""The column types that the Avro formats support."""

from __future__ import annotations

from typing import Final

from millstream.formats.json_types import parts
from millstream.sql.types import CHARACTER, DataType, TypeRoot

_MILLIS: Final = 3
_MICROS: Final = 6


def not_in_avro(type_: DataType) -> str | None:
    """Why a column of this type is not supported, whatever the mapping of timestamps."""
    precision = type_.precision or 0
    match type_.root:
        case TypeRoot.TIME if precision > _MILLIS:
            return f"Avro does not support TIME with precision {precision}, only up to {_MILLIS}"
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ if precision > _MICROS:
            legacy = f", in the legacy mapping up to {_MILLIS}" if type_.root is TypeRoot.TIMESTAMP else ""
            return f"Avro does not support {type_.root} with precision {precision}, only up to {_MICROS}{legacy}"
        case TypeRoot.MAP if type_.key is not None and type_.key.root not in CHARACTER:
            return f"Avro does not support a key of type {type_.key} in a map, only a STRING"
        case TypeRoot.MULTISET if type_.element is not None and type_.element.root not in CHARACTER:
            return f"Avro does not support a MULTISET of {type_.element}, only of STRING"
        case TypeRoot.INTERVAL_YEAR_MONTH | TypeRoot.INTERVAL_DAY_TIME:
            return f"Avro has no type for {type_.root}"
        case _:
            return next((why for part in parts(type_) if (why := not_in_avro(part))), None)


def not_in_legacy_avro(type_: DataType) -> str | None:
    """Why the legacy mapping, in which TIMESTAMP is timestamp-millis, does not support a column."""
    if type_.root is TypeRoot.TIMESTAMP_LTZ:
        return "The legacy mapping of timestamps has no Avro type for TIMESTAMP_LTZ"
    if type_.root is TypeRoot.TIMESTAMP and (type_.precision or 0) > _MILLIS:
        return f"Avro does not support TIMESTAMP with precision {type_.precision}, only up to {_MILLIS}"
    return next((why for part in parts(type_) if (why := not_in_legacy_avro(part))), None)
