"""One table of casts: what CAST allows, a metadata column may have too, and times as numbers beside."""

from __future__ import annotations

from millstream.sql.casts import can_cast
from millstream.sql.types import NESTED, NUMERIC, TIMESTAMPS, DataType, Field, TypeRoot

ATOMIC = [root for root in TypeRoot if root not in NESTED]


def test_metadata_differs_from_cast_in_times_and_numbers_alone() -> None:
    pairs = [(DataType(found), DataType(wanted)) for found in ATOMIC for wanted in ATOMIC]
    of_cast = {(found.root, wanted.root) for found, wanted in pairs if can_cast(found, wanted)}
    of_metadata = {(found.root, wanted.root) for found, wanted in pairs if can_cast(found, wanted, as_metadata=True)}
    times_and_numbers = {(time, number) for time in TIMESTAMPS for number in NUMERIC}
    assert of_metadata - of_cast == times_and_numbers | {(number, time) for time, number in times_and_numbers}
    assert of_cast <= of_metadata


def test_parts_are_cast_as_the_whole_is() -> None:
    times = DataType(TypeRoot.ROW, fields=(Field("at", DataType(TypeRoot.TIMESTAMP)),))
    numbers = DataType(TypeRoot.ROW, fields=(Field("at", DataType(TypeRoot.BIGINT)),))
    two = DataType(TypeRoot.ROW, fields=(*numbers.fields, *numbers.fields))
    assert not can_cast(times, numbers)
    assert can_cast(times, numbers, as_metadata=True)
    assert not can_cast(two, numbers, as_metadata=True)
