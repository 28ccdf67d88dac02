"""Binary Avro is decoded alike by the walk through many messages and by the exact reader."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.formats import avro_decode, avro_walk
from millstream.formats.avro_decode import FEWEST_MESSAGES, AvroDecoder
from millstream.formats.avro_encode import AvroEncoder
from millstream.formats.avro_walk import AvroWalk
from millstream.formats.decoded import DecodeError
from millstream.formats.texts_to_values import UnsettledError
from millstream.sql.types import STRING, DataType, Field, TypeRoot, decimal
from tests.fuzz.binary_messages import varint
from tests.unit.formats.conformance.reading import parse_columns, plain
from tests.unit.formats.conformance.written_values import ALL, NEWER_AVRO, Written
from tests.unit.formats.random_rows import INTS, PAIR, SCALARS, comparable, tables
from tests.unit.formats.test_avro_encode import LISTS, MAP, MULTISET, NESTED_ROW, ROWS, Columns, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MILLIS = {"ts": DataType(TypeRoot.TIMESTAMP, precision=3), "tz": DataType(TypeRoot.TIMESTAMP_LTZ, precision=3)}
TYPES = {
    **{name: type_ for name, type_ in SCALARS.items() if name not in MILLIS},
    "big": decimal(38, 10), "ai": INTS, "al": LISTS, "ar": ROWS, "ro": PAIR,
}  # fmt: skip
STRICT = DataType(TypeRoot.ROW, fields=(Field("s", STRING.not_null()), Field("l", INTS.not_null())))
ODD = (b"", b"\0", b"\1", b"\2", b"\x03", b"\x80", b"\xff" * 9, b"\xff" * 10, b"\x7f")


@pytest.fixture(scope="module", autouse=True)
def _walk_through_few_messages() -> Iterator[None]:
    with patch.object(avro_decode, "FEWEST_MESSAGES", 0):
        yield


def reader(columns: Columns, *, needed: Sequence[str] | None = None, exact_only: bool = False) -> AvroDecoder:
    made = AvroDecoder(columns, tuple(name for name, _ in columns) if needed is None else tuple(needed))
    made._exact_only = exact_only
    return made


def walked(columns: Columns, messages: pa.Array) -> pa.Table:
    """What the walk makes of a batch."""
    found = reader(columns)._read_batch(messages)
    assert found is not None
    return found[0]


def outcome(columns: Columns, messages: pa.Array, *, exact_only: bool) -> tuple[str, list[int] | None, list[Any]]:
    """Rows, where they come from, and what could not be read."""
    decoded = reader(columns, exact_only=exact_only).decode(messages, sets_aside=True)
    decoded.table.validate(full=True)
    origin = None if decoded.origin is None else decoded.origin.to_pylist()
    return comparable(decoded.table), origin, [(found.index, found.text) for found in decoded.unreadable]


def varint_of(number: int) -> bytes:
    return varint((number << 1) ^ (number >> 63))


@pytest.mark.parametrize("exact_only", [False, True], ids=["walk", "exact"])
@pytest.mark.parametrize("case", [*(case for case in ALL if case.avro), *NEWER_AVRO], ids=str)
def test_reads_the_bytes_of_flink(case: Written, exact_only: bool) -> None:  # noqa: FBT001
    [(name, type_)] = columns = parse_columns(f"v {case.type}")
    message = pa.array([bytes.fromhex(case.avro or "")], pa.binary())
    found = reader(columns, exact_only=exact_only).decode(message).table
    assert plain(found[name].to_pylist()[0], type_) == plain(dict(case.read).get("avro", case.value), type_)


@given(tables(TYPES), st.randoms(use_true_random=False))
def test_random_rows(drawn: tuple[Columns, pa.Table], random: Any) -> None:
    columns, table = drawn
    messages = AvroEncoder(columns).encode(table)
    with patch.object(avro_walk, "_FIRST_ROUNDS", 1000):
        assert walked(columns, messages).num_rows == table.num_rows, "none is left to the exact reader"
        assert outcome(columns, messages, exact_only=False) == outcome(columns, messages, exact_only=True)
    assert comparable(reader(columns).decode(messages).table) == comparable(table)
    needed = random.sample(table.column_names, random.randint(0, len(columns)))
    some = reader(columns, needed=needed).decode(messages)
    assert some.table.num_rows == table.num_rows
    assert comparable(some.table) == comparable(table.select(needed))


@given(tables(TYPES), st.data())
def test_bytes_that_were_changed(drawn: tuple[Columns, pa.Table], data: st.DataObject) -> None:
    """Each message by itself, among others that are as they were."""
    columns, table = drawn
    whole = AvroEncoder(columns).encode(table).to_pylist()
    changed = []
    for message in whole:
        cut = message[: data.draw(st.integers(0, len(message)))]
        odd = data.draw(
            st.sampled_from([b"", b"\0", b"\1", b"\2", b"\x03", b"\x80", b"\xff" * 9, b"\xff" * 10, b"\x7f"])
        )
        changed.append(cut + odd + message[len(cut) + data.draw(st.integers(0, 2)) :])
    messages = pa.array([None, *whole, *changed], pa.binary())
    assert outcome(columns, messages, exact_only=False) == outcome(columns, messages, exact_only=True)


class Values:
    """Random values of any type, some NULL."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(3)
        self._of: dict[TypeRoot, Callable[[int], Any]] = {
            TypeRoot.STRING: lambda _: "é" * self._up_to(100),
            TypeRoot.BYTES: lambda _: self.random.bytes(self._up_to(90)),
            TypeRoot.BOOLEAN: lambda i: bool(i % 2),
            TypeRoot.TINYINT: lambda i: i % 128 - 64,
            TypeRoot.TIMESTAMP: lambda _: 1000 * self._up_to(2**50) - 1000 * 2**49,
            TypeRoot.TIMESTAMP_LTZ: lambda _: 1000 * self._up_to(2**50),
            TypeRoot.BIGINT: lambda _: int(self.random.integers(-(2**63), 2**63 - 1)) >> self._up_to(63),
            TypeRoot.DECIMAL: lambda i: (i - 500) % 900,
        }

    def draw(self, type_: DataType, i: int) -> Any:
        if type_.nullable and self._up_to(5) == 0:
            return None
        if type_.root is TypeRoot.ROW:
            return {field.name: self.draw(field.type, i) for field in type_.fields}
        if type_.root is TypeRoot.ARRAY and type_.element is not None:
            return [self.draw(type_.element, i) for _ in range(self._up_to(4))]
        if type_.root is TypeRoot.MAP and type_.element is not None:
            return [(f"k{place}", self.draw(type_.element, i)) for place in range(self._up_to(4))]
        if type_.root is TypeRoot.MULTISET:
            return [(f"k{place}", i) for place in range(self._up_to(4))]
        draw = self._of.get(type_.root)
        return i if draw is None else draw(i)

    def _up_to(self, end: int) -> int:
        return int(self.random.integers(0, end))


def test_many_messages_of_all_types() -> None:
    columns = (("r", NESTED_ROW), ("m", MAP), ("c", MULTISET), ("nn", STRICT), *TYPES.items(), *MILLIS.items())
    values = Values()
    table = table_of(columns, [[values.draw(type_, i) for _, type_ in columns] for i in range(2000)])
    messages = AvroEncoder(columns).encode(table)
    framed = pa.concat_arrays([pa.array([b"before"], pa.binary()), messages, pa.array([b"behind"], pa.binary())])
    inside = framed.slice(1, len(messages))
    assert walked(columns, inside).equals(table)
    assert comparable(reader(columns, exact_only=True).decode(inside).table) == comparable(table)


@pytest.mark.parametrize(
    ("declared", "before", "after"),
    [
        ("t TIME", b"\x02", b""),
        ("t ARRAY<TIME>", b"\x02\x04\x02\x00\x02", b"\x00"),
        ("t ROW<x INT, y TIME>", b"\x02\x00\x02", b""),
        ("t MAP<STRING, TIME>", b"\x02\x02\x02k\x02", b"\x00"),
    ],
)
def test_times_outside_the_day_are_undecodable(declared: str, before: bytes, after: bytes) -> None:
    times = [0, 86_399_999, 86_400_000, -1, 2**31 - 1]
    messages = pa.array([before + varint_of(time) + after for time in times], pa.binary())
    decoder = reader(parse_columns(declared))
    assert [found.index for found in decoder.decode(messages, sets_aside=True).unreadable] == [2, 3, 4]
    with pytest.raises(DecodeError, match=r"Failed to deserialize Avro record\."):
        decoder.decode(messages)


def test_numbers_that_are_too_large_lose_their_upper_bits_as_in_java() -> None:
    numbers = [0, -1, 127, 128, -128, -129, 300, 32_767, 32_768, -32_769, 2**31 - 1, -(2**31)]
    data = [b"\x02" + varint_of(n) + b"\x02\x02\x02" + varint_of(n) + b"\x00" for n in numbers]
    found = reader(parse_columns("t TINYINT, s ARRAY<SMALLINT>")).decode(pa.array(data, pa.binary())).table
    assert found["t"].to_pylist() == np.array(numbers).astype(np.int8).tolist()
    assert found["s"].to_pylist() == [[n] for n in np.array(numbers).astype(np.int16).tolist()]


def test_keys_of_a_map_that_become_the_same_are_one() -> None:
    """As in Flink, which puts them into a map of Java's; the last one counts."""
    columns = parse_columns("m MAP<STRING, INT>")
    not_utf8 = b"\x02\x04" + b"\x02\xff" + b"\x02\x02" + b"\x02\xfe" + b"\x02\x04" + b"\x00"
    twice = b"\x02\x04" + b"\x02k" + b"\x02\x02" + b"\x02k" + b"\x02\x04" + b"\x00"
    found = reader(columns).decode(pa.array([not_utf8, twice], pa.binary())).table
    assert found["m"].to_pylist() == [[("\ufffd", 2)], [("k", 2)]]


def test_blocks_of_lists() -> None:
    """Other writers may split a list into blocks, and say how many bytes a block has."""
    columns = parse_columns("l ARRAY<INT>, n INT")
    blocks = b"\x02" + b"\x04\x02\x02\x02\x04" + b"\x02\x02\x06" + b"\x00" + b"\x02\x0e"
    sized = b"\x02" + b"\x03\x08\x02\x02\x02\x04" + b"\x02\x02\x06" + b"\x00" + b"\x02\x0e"
    for messages in ([blocks], [sized], [blocks, sized]):
        found = reader(columns).decode(pa.array(messages, pa.binary())).table
        assert found.to_pylist() == [{"l": [1, 2, 3], "n": 7}] * len(messages)


def test_what_follows_a_record_is_ignored_as_in_flink() -> None:
    found = reader(parse_columns("n INT")).decode(pa.array([b"\x02\x0e", b"\x02\x0e\xff\xff"], pa.binary())).table
    assert found["n"].to_pylist() == [7, 7]


def test_an_empty_message_is_no_record_unless_it_has_no_columns() -> None:
    empty = pa.array([b"", None, b""], pa.binary())
    assert [found.index for found in reader(parse_columns("n INT")).decode(empty, sets_aside=True).unreadable] == [0, 2]
    decoded = reader(()).decode(empty)
    assert decoded.table.num_rows == 2
    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == [0, 2]


def test_a_list_that_announces_too_much() -> None:
    columns = parse_columns("l ARRAY<ROW<a INT>>, s STRING")
    huge = [b"\x02" + varint_of(2**40) + b"\x02", b"\x00\x02" + varint_of(2**40), b"\x00\x02" + varint_of(-5)]
    decoded = reader(columns).decode(pa.array([*huge, b"\x00\x00"], pa.binary()), sets_aside=True)
    assert [found.index for found in decoded.unreadable] == [0, 1, 2]
    assert decoded.table.to_pylist() == [{"l": None, "s": None}]


def test_few_messages_are_read_one_by_one() -> None:
    messages = pa.array([b"\x02\x0e"] * FEWEST_MESSAGES, pa.binary())
    with patch.object(avro_decode, "FEWEST_MESSAGES", FEWEST_MESSAGES):
        decoder = reader(parse_columns("n INT"))
        assert decoder._read_batch(messages[1:]) is None
        assert decoder._read_batch(messages) is not None


@pytest.mark.parametrize("declared", ["l ARRAY<INT> NOT NULL", "l MAP<STRING, INT> NOT NULL"])
def test_a_long_list_among_short_ones_is_left_to_the_exact_reader(declared: str) -> None:
    """A walk makes a round for each element, whether one message has it or thousands."""
    columns = parse_columns(declared)
    is_map = columns[0][1].root is TypeRoot.MAP
    values = [[(str(n), n) if is_map else n for n in range(size)] for size in [3] * 700 + [30_000] + [2] * 700]
    messages = AvroEncoder(columns).encode(table_of(columns, [[value] for value in values]))
    decoder = reader(columns)

    with patch.object(AvroDecoder, "_rows", autospec=True, side_effect=AvroDecoder._rows) as read_one:
        found = decoder.decode(messages).table["l"].to_pylist()

    assert found == values
    assert 0 < read_one.call_count <= 256


def test_lists_in_lists_share_the_limit_of_rounds() -> None:
    columns = (("l", LISTS),)
    messages = AvroEncoder(columns).encode(table_of(columns, [[[[1] * 15] * 15]] * 50))
    with pytest.raises(UnsettledError):
        AvroWalk(messages).read(columns, ("l",))
    assert walked(columns, pa.concat_arrays([messages] * 2)).num_rows == 100


def test_rows_of_nulls_have_a_limit() -> None:
    """A NULL takes one byte, and its row a value of each column."""
    fields = ", ".join(f"c{n} INT" for n in range(500))
    columns = parse_columns(f"a ARRAY<ROW<{fields}>> NOT NULL")
    messages = pa.array([varint_of(3000) + b"\0" * 3001] * 3, pa.binary())
    decoded = reader(columns).decode(messages, sets_aside=True)
    assert [found.index for found in decoded.unreadable] == [0, 1, 2]
    assert "more than 1051579 values" in decoded.unreadable[0].text
    with pytest.raises(UnsettledError):
        AvroWalk(messages).read(columns, ("a",))


@pytest.mark.parametrize("millis", [-(2**63), 2**63 - 1, -(2**63) // 1000, 2**63 // 1000 + 1])
@pytest.mark.parametrize("exact_only", [False, True], ids=["walk", "exact"])
def test_timestamps_beyond_microseconds_are_undecodable(millis: int, exact_only: bool) -> None:  # noqa: FBT001
    messages = pa.array([b"\x02" + varint_of(millis)], pa.binary())
    for declared in ("t TIMESTAMP(3)", "t TIMESTAMP_LTZ(3)"):
        decoded = reader(parse_columns(declared), exact_only=exact_only).decode(messages, sets_aside=True)
        assert [found.index for found in decoded.unreadable] == [0]


def test_a_long_text_is_copied_once_or_twice() -> None:
    columns = parse_columns("s STRING, b BYTES")
    size = 4 << 20
    messages = AvroEncoder(columns).encode(table_of(columns, [["x" * size, b"y" * size]]))
    decoder = reader(columns)
    tracemalloc.start()
    table = decoder.decode(messages).table
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table.to_pylist() == [{"s": "x" * size, "b": b"y" * size}]
    assert peak < 6 * size
