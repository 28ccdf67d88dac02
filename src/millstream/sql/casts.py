"""Which types can be cast to which: one table, for CAST and for metadata columns."""

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
_OF_METADATA: Final = {**dict.fromkeys(NUMERIC, TIMESTAMPS), **dict.fromkeys(TIMESTAMPS, NUMERIC)}


def can_cast(found: DataType, wanted: DataType, *, as_metadata: bool = False) -> bool:
    """Whether CAST(found AS wanted) is allowed.

    `as_metadata`: whether a metadata column may have that type. Times of messages are declared as numbers too there,
    which CAST refuses because it does not say which unit they have.

    >>> time, number = DataType(TypeRoot.TIMESTAMP_LTZ, precision=3), DataType(TypeRoot.BIGINT)
    >>> can_cast(time, number), can_cast(time, number, as_metadata=True)
    (False, True)
    """
    if wanted.root in INTERVALS:  # they are written as literals
        return found.root is wanted.root
    if found.root is TypeRoot.NULL or wanted.root in CHARACTER or found.root is wanted.root not in NESTED:
        return True
    if found.root in NESTED:
        inner, outer = parts(found), parts(wanted)
        return (
            found.root is wanted.root
            and len(inner) == len(outer)
            and all(can_cast(a, b, as_metadata=as_metadata) for a, b in zip(inner, outer, strict=True))
        )
    if as_metadata and wanted.root in _OF_METADATA.get(found.root, frozenset()):
        return True
    return wanted.root in _FROM.get(found.root, frozenset())


def parts(type_: DataType) -> list[DataType]:
    """The types that a nested type is made of."""
    return [part for part in (type_.key, type_.element, *(field.type for field in type_.fields)) if part is not None]
