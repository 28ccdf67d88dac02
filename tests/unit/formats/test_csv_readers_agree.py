"""The batch reader and the exact reader of csv must never differ."""

from __future__ import annotations

from typing import Final
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.formats import message_decoder
from millstream.formats.csv_decode import CsvDecoder
from millstream.formats.csv_format import CsvOptions
from millstream.formats.decoded import DecodeError
from millstream.sql.types import INT, DataType
from tests.unit.formats.random_rows import INTS, PAIR, SCALARS, comparable

ALL: Final = {**SCALARS, "ar": INTS, "ro": PAIR}
OPTIONS: Final = {
    "plain": CsvOptions(),
    "lenient": CsvOptions(ignore_parse_errors=True),
    "pipe": CsvOptions(delimiter="|", quote="'", element_delimiter=":"),
    "unquoted": CsvOptions(quote=None),
    "nulls": CsvOptions(null_literal="null", ignore_parse_errors=True),
    "empty": CsvOptions(empty_string_as_null=True),
    "comments": CsvOptions(allow_comments=True, ignore_parse_errors=True),
    "escape": CsvOptions(escape="\\"),
    "trim": CsvOptions(trim_spaces=True),
    "trailing": CsvOptions(ignore_trailing_unmappable=True),
    "strict": CsvOptions(allow_trailing_comma=False, fail_on_missing_columns=True),
}
TEXTS: Final = [
    "", " ", "null", "true", "TRUE", " true ", "tru", "0", "-0", "7", "+7", " 7", "007", "0x1F", "127", "128", "1.5",
    "1.005", ".5", "5.", "1e3", "1E400", "1e-400", "NaN", "Infinity", "1f", "9223372036854775808", "99999", "999.999",
    "AQI=", "AQ==", "AR==", "AQI", "2024-02-29", "2023-02-29", "2023-02-31", "2024-2-9", "1582-10-10", "1500-02-29",
    "0000-01-01", "07:08:09", "07:08:09.123456", "07:08:09.1234567", "07:08", "24:00:00", "07:08:09Z",
    "2024-01-02 03:04:05", "2024-01-02 03:04:05.123", " 2024-01-02 03:04:05 ", "2024-01-02 03:04:05Z",
    "2024-01-02T03:04:05", "2024-01-02 24:00:00", "2023-02-29 00:00:00", "1;2", "1;", ";", "1;2;3", "1;x", "1:2",
    "null;1", '"', '""', '"a"', '"a,b"', '"a""b"', '"a"b', ' "a"', '"a" ', 'a"b', "'a|b'", "#x", " #x", "\\", "a\\nb",
    "\\,", "é😀", "a\nb", "a\r\nb", '"a\nb"', "\0", "\ufeffa", "a b",
]  # fmt: skip
LINES: Final = st.lists(st.sampled_from(TEXTS) | st.text(max_size=5), min_size=1, max_size=4)


def readers(columns: dict[str, DataType], options: CsvOptions) -> tuple[CsvDecoder, CsvDecoder]:
    """One that reads batches where it can, and one that never does."""
    batch, exact = (CsvDecoder(tuple(columns.items()), options) for _ in range(2))
    exact._exact_only = True
    return batch, exact


def outcome(decoder: CsvDecoder, messages: list[bytes | None]) -> object:
    try:
        decoded = decoder.decode(pa.array(messages, pa.binary()))
    except DecodeError as error:
        return error.index, error.text
    decoded.table.validate(full=True)
    origin = None if decoded.origin is None else decoded.origin.to_pylist()
    return comparable(decoded.table), decoded.table.num_rows, origin, decoded.skipped


@given(
    st.lists(st.none() | LINES, max_size=6),
    st.lists(st.sampled_from(list(ALL)), unique=True, min_size=1, max_size=3),
    st.sampled_from(list(OPTIONS)),
    st.sampled_from([1, 256]),
)
def test_both_readers_agree(lines: list[list[str] | None], names: list[str], options: str, small: int) -> None:
    chosen = OPTIONS[options]
    columns = {name: ALL[name] for name in names}
    messages = [None if line is None else chosen.delimiter.join(line).encode("utf-8", "replace") for line in lines]
    batch, exact = readers(columns, chosen)
    with patch.object(message_decoder, "_SMALL_BATCH", small):
        found = outcome(batch, messages)
    assert found == outcome(exact, messages)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("options", ["plain", "lenient", "pipe", "nulls", "empty"])
def test_both_readers_agree_on_every_odd_text(name: str, options: str) -> None:
    delimiter = OPTIONS[options].delimiter
    first = readers({name: ALL[name], "other": INT}, OPTIONS[options])
    last = readers({"other": INT, name: ALL[name]}, OPTIONS[options])
    for text in TEXTS:
        for (batch, exact), line in ((first, f"{text}{delimiter}1"), (last, f"1{delimiter}{text}")):
            assert outcome(batch, [line.encode()]) == outcome(exact, [line.encode()]), line


def test_ordinary_lines_are_read_as_one_batch() -> None:
    decoder = CsvDecoder((("id", INT), ("name", SCALARS["st"]), ("at", SCALARS["ts"]), ("tags", INTS), ("pair", PAIR)))
    messages = pa.array([b'1,"two words","2024-01-02 03:04:05.1",1;2,9;z', b",,,,"], pa.binary())
    prepared, usable = decoder._prepare(messages)
    assert usable.tolist() == [True, True]
    assert decoder._read_batch(prepared.slice(0, 1)) is not None
