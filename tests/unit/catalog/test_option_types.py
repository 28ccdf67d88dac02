"""Values as options write them."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.catalog.durations import duration
from millstream.catalog.options import (
    ConfigOption,
    OptionType,
    at_least,
    boolean,
    integer,
    java_regex,
    long_integer,
    one_of,
    text,
    text_list,
)


class Size(StrEnum):
    SMALL = "small"
    LARGE = "LARGE_ONE"


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("5 min", timedelta(minutes=5)),
        ("1s", timedelta(seconds=1)),
        ("100 ms", timedelta(milliseconds=100)),
        ("100", timedelta(milliseconds=100)),
        (" 2 Days ", timedelta(days=2)),
        ("3h", timedelta(hours=3)),
        ("7 µs", timedelta(microseconds=7)),
        ("2500 ns", timedelta(microseconds=2)),
        ("0", timedelta(0)),
    ],
)
def test_durations(value: str, length: timedelta) -> None:
    assert duration(value) == length


@given(
    st.integers(0, 10**6),
    st.sampled_from([("d", 86_400_000), ("hours", 3_600_000), ("m", 60_000), ("sec", 1000), ("", 1), ("millis", 1)]),
    st.sampled_from(["", " ", "  "]),
)
def test_duration_is_count_times_unit(count: int, unit: tuple[str, int], blank: str) -> None:
    assert duration(f"{count}{blank}{unit[0]}") / timedelta(milliseconds=1) == count * unit[1]


@pytest.mark.parametrize("value", ["", "soon", "-1 s", "1.5 s", "5 parsecs", "1 s 2 ms", "9" * 30])
def test_no_durations(value: str) -> None:
    with pytest.raises(ValueError, match="is"):
        duration(value)


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (integer, " -7 ", -7),
        (integer, "2147483647", 2147483647),
        (long_integer, "9223372036854775807", 9223372036854775807),
        (boolean, " True ", True),
        (boolean, "FALSE", False),
        (text, "a b", "a b"),
        (text_list, "a; b ;c", ("a", "b", "c")),
        (one_of(Size), "Large_one", Size.LARGE),
        (at_least(1), "1", 1),
        (java_regex, r"(?<shop>[a-z]+)-\d++", r"(?<shop>[a-z]+)-\d++"),
        (java_regex, r"\p{Lu}.*&&[^a]", r"\p{Lu}.*&&[^a]"),
    ],
)
def test_values(kind: OptionType[object], value: str, read: object) -> None:
    assert kind(value) == read


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (integer, "2147483648"),
        (integer, "1.0"),
        (integer, "٣"),
        (long_integer, "9223372036854775808"),
        (boolean, "yes"),
        (text, " "),
        (text_list, "a;;b"),
        (one_of(Size), "medium"),
        (at_least(1), "0"),
        (java_regex, "orders-["),
        (java_regex, "*"),
        (java_regex, ""),
    ],
)
def test_no_values(kind: OptionType[object], value: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        kind(value)


def test_types_have_the_names_the_reference_shows() -> None:
    docs = {Size.SMALL: "little"}
    assert ConfigOption("k", one_of(Size, docs), "").type.values == (("small", "little"), ("LARGE_ONE", ""))
    assert ConfigOption("k", Size, "").type.name == "ENUM"
    assert [ConfigOption("k", kind, "").type.name for kind in (str, text, duration)] == ["STRING", "STRING", "DURATION"]
