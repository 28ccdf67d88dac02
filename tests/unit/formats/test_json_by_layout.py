"""Messages that are read by their layout come out as the exact reader reads them."""

from __future__ import annotations

import json
from typing import Final
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.formats import json_by_layout
from millstream.formats.json_by_layout import FEWEST_MESSAGES, JsonLayoutReader
from millstream.formats.json_layout import find_layout
from millstream.formats.json_options import JsonOptions
from tests.unit.formats.test_json_readers_agree import ALL, COMPLETE, LENIENT, TEXTS, outcome

LEAVES: Final = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.integers(-999, 999).map(str),
    st.decimals(-1000, 1000, places=3).map(str),
    st.sampled_from(["null", "true", "false", "0", "-0"]),
    st.text('ab\u00e9"\\\n[{ ', max_size=70).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(TEXTS),
)
NAMES: Final = ("bo", "ti", "in", "bi", "do", "st", "ts", "ro", "unknown")


@st.composite
def _messages_of_few_layouts(draw: st.DrawFn) -> list[bytes]:
    comma, colon = draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " :  ")]))
    layouts = draw(st.lists(st.lists(st.sampled_from(NAMES), unique=True, min_size=1), min_size=1, max_size=3))
    usual = draw(st.lists(LEAVES, min_size=1, max_size=3))

    def write(names: list[str]) -> str:
        values = [draw(LEAVES if draw(st.integers(0, 4)) == 0 else st.sampled_from(usual)) for _ in names]
        return "{" + comma.join(f'"{name}"{colon}{value}' for name, value in zip(names, values, strict=True)) + "}"

    count = draw(st.integers(1, 12))
    return [write(draw(st.sampled_from(layouts))).encode() for _ in range(count)]


@given(_messages_of_few_layouts(), st.sampled_from([JsonOptions(), LENIENT, COMPLETE]))
def test_both_readers_agree(messages: list[bytes], options: JsonOptions) -> None:
    columns = {name: ALL[name] for name in ("bo", "ti", "in", "bi", "do", "st", "ts", "ro")}
    with patch.object(json_by_layout, "FEWEST_MESSAGES", 1):
        by_layout = outcome(list(messages), columns, options, exact_only=False)
    assert by_layout == outcome(list(messages), columns, options, exact_only=True)


def test_rare_layouts_are_left_to_the_parser() -> None:
    """Any column may be NULL, which makes a layout of its own: walking along each would cost more than parsing."""
    rows = [{f"f{place}": None if number % 40 == place else "v" for place in range(30)} for number in range(8000)]
    messages = pa.array([json.dumps(row).encode() for row in rows], pa.binary())
    reader = JsonLayoutReader(pa.schema([("f1", pa.string()), ("f9", pa.string())]))

    read = reader.read(messages)

    assert read is None
    assert len(reader._layouts) == 1, "that of a quarter, of which nothing is NULL"
    often = pa.concat_arrays([messages.slice(39, 1)] * 8000 + [messages.slice(0, 300)])
    found = reader.read(often)
    assert found is None, "it pauses"
    found = reader.read(often)
    assert found is not None
    assert found[1].tolist() == [True] * 8000 + [row % 40 >= 30 for row in range(300)]
    assert found[0].column("f9").to_pylist() == ["v"] * found[0].num_rows
    assert len(reader._layouts) == 1


def test_messages_of_many_values_have_no_layout() -> None:
    def layout(values: int) -> object:
        return find_layout(json.dumps(dict.fromkeys(map(str, range(values)), 1)).encode())

    assert layout(100) is not None
    assert layout(101) is None


@pytest.mark.parametrize("name", ["bo", "ti", "in", "bi", "fl", "do", "st", "ts", "da", "by", "ro"])
def test_every_odd_text_among_usual_ones(name: str) -> None:
    usual = {"bo": "true", "st": '"x"', "ts": '"2024-01-02 03:04:05"', "da": '"2024-02-29"', "by": '"AQI="'}
    rest = [f'{{"{name}":{usual.get(name, "7") if name != "ro" else "null"},"other":1}}'.encode()] * 20
    for text in TEXTS:
        messages: list[bytes | None] = [*rest, f'{{"{name}":{text},"other":1}}'.encode(), *rest]
        with patch.object(json_by_layout, "FEWEST_MESSAGES", 1):
            by_layout = outcome(messages, {name: ALL[name]}, LENIENT, exact_only=False)
        assert by_layout == outcome(messages, {name: ALL[name]}, LENIENT, exact_only=True), text


def test_large_batches_of_several_layouts_and_of_none() -> None:
    order = pa.struct([("id", pa.int64()), ("note", pa.string()), ("price", pa.float64())])
    schema = pa.schema([("before", order), ("after", order), ("op", pa.string()), ("done", pa.bool_())])
    rows, texts = [], []
    for i in range(3 * FEWEST_MESSAGES):
        value = {"id": 17 ** (i % 15) * (-1) ** i, "note": "é" * (i % 41), "price": i / 8}
        row = {
            "before": value if i % 3 else None,
            "after": value if i % 3 < 2 else None,
            "op": "cud"[i % 3],
            "done": (True, False, None)[i % 7 % 3],
        }
        rows.append(row)
        texts.append(json.dumps(row, ensure_ascii=i % 500 == 1).encode())  # no layout has escapes
    read = JsonLayoutReader(schema).read(pa.array(texts, pa.binary()))
    assert read is not None
    table, has_layout = read
    assert table.to_pylist() == [row for row, has in zip(rows, has_layout, strict=True) if has]
    assert 0 < np.count_nonzero(~has_layout) < len(rows) / 100


def test_messages_without_a_layout_are_left_to_the_parser() -> None:
    texts = [json.dumps({f"name{i}": i}).encode() for i in range(FEWEST_MESSAGES)]
    assert JsonLayoutReader(pa.schema([("a", pa.int64())])).read(pa.array(texts, pa.binary())) is None


def test_a_slice_of_a_column_is_read() -> None:
    texts = [f'{{"a":{i},"b":"{"x" * (i % 20)}"}}'.encode() for i in range(2 * FEWEST_MESSAGES)]
    messages = pa.array(texts, pa.binary()).slice(FEWEST_MESSAGES // 2, FEWEST_MESSAGES)
    read = JsonLayoutReader(pa.schema([("b", pa.string()), ("a", pa.int32()), ("c", pa.int64())])).read(messages)
    assert read is not None
    numbers = range(FEWEST_MESSAGES // 2, FEWEST_MESSAGES // 2 + FEWEST_MESSAGES)
    assert read[1].all()
    assert read[0].to_pylist() == [{"b": "x" * (i % 20), "a": i, "c": None} for i in numbers]


@pytest.mark.parametrize(
    "message", [b'{"a":[1]}', b'{"a":"\\n"}', b'{"a":1,"a":2}', b'{"a":NaN}', b'{"a":1e5}', b"[1]", b'{"a":01}', b"{"]
)
def test_what_has_no_layout(message: bytes) -> None:
    assert find_layout(message) is None


def test_a_layout() -> None:
    layout = find_layout(b'{"a": 1, "b":{"c":"x"} } ')
    assert layout is not None
    assert layout.texts == (b'{"a": ', b', "b":{"c":"', b'"} } ')
    assert layout.places == {("a",): 0, ("b", "c"): 1}
    assert layout.objects == {(), ("b",)}
