"""Which types can be cast to which."""

from __future__ import annotations

from typing import Final

from millstream.sql.types import (
    BINARIES,
    CHARACTER,
    INTEGERS,
    INTERVALS,
    NESTED,
    NUMERIC,
    TIMESTAMPS,
    DataType,
    TypeRoot,
)

_POINTS: Final = TIMESTAMPS | {TypeRoot.DATE}
_FROM: Final = {
    TypeRoot.BOOLEAN: NUMERIC,
    TypeRoot.DATE: _POINTS,
    **dict.fromkeys(CHARACTER, NUMERIC | BINARIES | _POINTS | {TypeRoot.BOOLEAN}),
    **dict.fromkeys(NUMERIC, NUMERIC),
    **dict.fromkeys(INTEGERS, NUMERIC | {TypeRoot.BOOLEAN}),
    **dict.fromkeys(BINARIES, BINARIES),
    **dict.fromkeys(TIMESTAMPS, _POINTS),
}
_WITHOUT_VALUES: Final = frozenset({TypeRoot.TIME, *INTERVALS})
"""What nothing is cast to: Spark's times are incomplete, and Flink's intervals are written as literals."""


def can_cast(found: DataType, wanted: DataType) -> bool:
    if wanted.root in _WITHOUT_VALUES:
        return found.root is wanted.root
    if found.root is TypeRoot.NULL or wanted.root in CHARACTER or found.root is wanted.root not in NESTED:
        return True
    if found.root in NESTED:
        pairs = zip(parts(found), parts(wanted), strict=False)
        same = found.root is wanted.root and len(parts(found)) == len(parts(wanted))
        return same and all(can_cast(inner, outer) for inner, outer in pairs)
    return wanted.root in _FROM.get(found.root, frozenset())


def parts(type_: DataType) -> list[DataType]:
    """The types that a nested type is made of."""
    return [part for part in (type_.key, type_.element, *(field.type for field in type_.fields)) if part is not None]
