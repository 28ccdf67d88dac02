"""Flink's raw rules."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.formats.arrow_types import arrow_type
from millstream.formats.decoded import DecodeError
from millstream.formats.raw_codec import RawDecoder, RawEncoder
from millstream.formats.raw_format import FIXED_SIZES, Endianness, RawOptions, not_in_raw
from millstream.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, DataType, TypeRoot
from tests.unit.formats.random_rows import BYTES, FLOAT, SCALARS, SMALLINT, TINYINT, values

LITTLE = RawOptions(endianness=Endianness.LITTLE)
CARRIED = [name for name, type_ in SCALARS.items() if not_in_raw(type_) is None]


def decode(messages: list[bytes | None], type_: DataType, options: RawOptions = RawOptions()) -> list[object]:  # noqa: B008
    column: list[object] = (
        RawDecoder((("c", type_),), options).decode(pa.array(messages, pa.binary())).table[0].to_pylist()
    )
    return column


def encode(column: list[object], type_: DataType, options: RawOptions = RawOptions()) -> list[object]:  # noqa: B008
    table = pa.table({"c": pa.array(column, arrow_type(type_))})
    messages: list[object] = RawEncoder((("c", type_),), options).encode(table).to_pylist()
    return messages


@given(st.data(), st.sampled_from(CARRIED), st.sampled_from(list(Endianness)))
def test_what_is_written_is_read_again(data: st.DataObject, name: str, endianness: Endianness) -> None:
    options = RawOptions(endianness=endianness)
    column = data.draw(st.lists(st.none() | values(SCALARS[name]), max_size=5))
    messages = encode(column, SCALARS[name], options)
    array = pa.array(messages, pa.binary())
    again = RawDecoder((("c", SCALARS[name]),), options).decode(array).table[0]
    assert again.combine_chunks().equals(pa.array(column, arrow_type(SCALARS[name])))


@pytest.mark.parametrize(
    ("type_", "value", "big"),
    [
        (BOOLEAN, True, "01"), (TINYINT, -2, "fe"), (SMALLINT, 258, "0102"), (INT, -2, "fffffffe"),
        (BIGINT, 1, "0000000000000001"), (FLOAT, 1.5, "3fc00000"), (DOUBLE, -2.0, "c000000000000000"),
    ],
)  # fmt: skip
def test_numbers_in_both_orders(type_: DataType, value: object, big: str) -> None:
    assert encode([value, None], type_) == [bytes.fromhex(big), None]
    assert encode([value], type_, LITTLE) == [bytes.fromhex(big)[::-1]]
    assert decode([bytes.fromhex(big), None], type_) == [value, None]


def test_any_byte_but_zero_is_true() -> None:
    assert decode([b"\0", b"\x02", b"\xff"], BOOLEAN) == [False, True, True]


@pytest.mark.parametrize("root", FIXED_SIZES)
def test_a_wrong_size_fails(root: TypeRoot) -> None:
    right = bytes(FIXED_SIZES[root])
    with pytest.raises(DecodeError) as caught:
        decode([right, None, right + b"\0"], DataType(root))
    assert caught.value.index == 2
    size_told = f"Size of data received for deserializing {root} type is not {FIXED_SIZES[root]}."
    assert caught.value.text == f"{size_told} It is '0x{right.hex()}00'."


def test_charsets() -> None:
    assert encode(["é€", None], STRING, RawOptions("iso-8859-1")) == [b"\xe9?", None]
    assert encode(["é"], STRING, RawOptions("utf-16")) == [b"\xfe\xff\0\xe9"]
    assert decode([b"\0\xe9", b"\xff\xfe\xe9\0", None], STRING, RawOptions("utf-16")) == ["é", "é", None]
    assert decode([b"\xff", b"a"], STRING) == ["\ufffd", "a"]


def test_lines_are_rows() -> None:
    options = RawOptions(line_delimiter="\r\n")
    messages = pa.array([b"a\r\nb\r\n", None, b"", b"\r\n", b"c"], pa.binary())
    result = RawDecoder((("c", STRING),), options).decode(messages)
    assert result.table[0].to_pylist() == ["a", "b", "", "c"]
    assert result.origin is not None
    assert result.origin.to_pylist() == [0, 0, 3, 4]
    assert encode(["a", "", None], STRING, options) == [b"a\r\n", b"\r\n", None]


def test_a_wrong_line_is_told_by_its_message() -> None:
    with pytest.raises(DecodeError) as caught:
        decode([b"ab\ncd", b"e"], SMALLINT, RawOptions(line_delimiter="\n"))
    assert caught.value.index == 1


def test_bytes_stay_as_they_are_and_the_column_may_be_left_out() -> None:
    assert decode([b"\xff", None], BYTES) == [b"\xff", None]
    counted = RawDecoder((("c", BYTES),), RawOptions(), ()).decode(pa.array([b"a", b"b"], pa.binary()))
    assert counted.table.num_rows == 2
