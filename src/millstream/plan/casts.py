"""Which types need no CAST to become which."""

from __future__ import annotations

from typing import Final

from millstream.plan.functions.results import fraction_digits
from millstream.sql.casts import parts
from millstream.sql.types import APPROXIMATE, BINARIES, CHARACTER, INTEGERS, NUMERIC, TIMESTAMPS, DataType, TypeRoot

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


def fits(found: DataType, wanted: DataType) -> bool:
    """Whether a value can go into a sink's column or a user's function without a CAST."""
    if found.root is TypeRoot.NULL:
        return True
    if found.root is not wanted.root:
        return found.root in _WITHOUT_CAST.get(wanted.root, frozenset())
    inner = zip(parts(found), parts(wanted), strict=False)
    return len(parts(found)) == len(parts(wanted)) and all(fits(a, b) for a, b in inner)


def is_cut(found: DataType, wanted: DataType) -> bool:
    """Whether a timestamp, perhaps inside a row or an array, loses fraction digits."""
    if found.root in TIMESTAMPS:
        is_shorter = wanted.root in TIMESTAMPS and fraction_digits(found) > fraction_digits(wanted)
        return wanted.root is TypeRoot.TIME or is_shorter
    return found.root is wanted.root and any(map(is_cut, parts(found), parts(wanted)))


def keeps_apart(found: DataType, wanted: DataType) -> bool:
    """Whether values that differ still differ after the cast: only then does a key stay a key."""
    if found.root is not wanted.root:  # where clocks are put back, two instants have one TIMESTAMP
        return any({found.root, wanted.root} <= family for family in (INTEGERS, APPROXIMATE, CHARACTER))
    if found.root in TIMESTAMPS:
        return fraction_digits(wanted) >= fraction_digits(found)
    if found.root is TypeRoot.DECIMAL:
        return (wanted.scale or 0) >= (found.scale or 0)
    return all(keeps_apart(*pair) for pair in zip(parts(found), parts(wanted), strict=True))
