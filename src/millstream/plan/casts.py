"""Which types can be cast to which, and which need no CAST."""

from __future__ import annotations

from typing import Final

from millstream.plan.functions.results import fraction_digits
from millstream.sql.types import (
    APPROXIMATE,
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
_CLOCKS: Final = _POINTS | {TypeRoot.TIME}
_FROM: Final = {
    TypeRoot.BOOLEAN: NUMERIC,
    TypeRoot.DATE: _POINTS,
    **dict.fromkeys(CHARACTER, NUMERIC | BINARIES | _CLOCKS | {TypeRoot.BOOLEAN}),
    **dict.fromkeys(NUMERIC, NUMERIC),
    **dict.fromkeys(INTEGERS, NUMERIC | {TypeRoot.BOOLEAN}),
    **dict.fromkeys(BINARIES, BINARIES),
    **dict.fromkeys(TIMESTAMPS, _CLOCKS),
    TypeRoot.TIME: TIMESTAMPS,
}
_WITHOUT_CAST: Final = {
    TypeRoot.SMALLINT: {TypeRoot.TINYINT},
    TypeRoot.INT: {TypeRoot.TINYINT, TypeRoot.SMALLINT},
    TypeRoot.BIGINT: INTEGERS,
    TypeRoot.FLOAT: INTEGERS | {TypeRoot.DECIMAL},
    TypeRoot.DOUBLE: NUMERIC,
    TypeRoot.DECIMAL: NUMERIC,
    TypeRoot.TIMESTAMP: TIMESTAMPS,
    TypeRoot.TIMESTAMP_LTZ: TIMESTAMPS,
    TypeRoot.DATE: {TypeRoot.TIMESTAMP},
    TypeRoot.TIME: {TypeRoot.TIMESTAMP},
    **dict.fromkeys(CHARACTER, CHARACTER),
    **dict.fromkeys(BINARIES, BINARIES),
}


def can_cast(found: DataType, wanted: DataType) -> bool:
    if wanted.root in INTERVALS:  # they are written as literals
        return found.root is wanted.root
    if found.root is TypeRoot.NULL or wanted.root in CHARACTER or found.root is wanted.root not in NESTED:
        return True
    if found.root in NESTED:
        pairs = zip(parts(found), parts(wanted), strict=False)
        same = found.root is wanted.root and len(parts(found)) == len(parts(wanted))
        return same and all(can_cast(inner, outer) for inner, outer in pairs)
    return wanted.root in _FROM.get(found.root, frozenset())


def fits(found: DataType, wanted: DataType) -> bool:
    """Whether a value can go into a sink's column or a user's function without a CAST."""
    if found.root is TypeRoot.NULL:
        return True
    if found.root is not wanted.root:
        return found.root in _WITHOUT_CAST.get(wanted.root, frozenset())
    inner = zip(parts(found), parts(wanted), strict=False)
    return len(parts(found)) == len(parts(wanted)) and all(fits(a, b) for a, b in inner)


def keeps_apart(found: DataType, wanted: DataType) -> bool:
    """Whether values that differ still differ after the cast: only then does a key stay a key."""
    if found.root is not wanted.root:  # where clocks are put back, two instants have one TIMESTAMP
        return any({found.root, wanted.root} <= family for family in (INTEGERS, APPROXIMATE, CHARACTER))
    if found.root in TIMESTAMPS:
        return fraction_digits(wanted) >= fraction_digits(found)
    if found.root is TypeRoot.DECIMAL:
        return (wanted.scale or 0) >= (found.scale or 0)
    return all(keeps_apart(*pair) for pair in zip(parts(found), parts(wanted), strict=True))


def parts(type_: DataType) -> list[DataType]:
    """The types that a nested type is made of."""
    return [part for part in (type_.key, type_.element, *(field.type for field in type_.fields)) if part is not None]
