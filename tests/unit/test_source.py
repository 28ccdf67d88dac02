"""A caret stands under the text it means, as wide as a terminal shows it."""

from __future__ import annotations

import pytest

from millstream.source import SourceText


@pytest.mark.parametrize(
    ("text", "marked", "expected"),
    [
        ("SELECT x FROM t", "x", "       ^"),
        ("SELECT '表名', x FROM t", "x", "               ^"),
        ("SELECT 表名 FROM t", "表名", "       ^^^^"),
        ("SELECT 'cafe\u0301', x", "x", "               ^"),
        ("SELECT\tx", "x", "       ^"),
        ("first\r\nSELECT x\r\n", "x", "       ^"),
        ("SELECT 'a\nb'", "'a\nb'", "       ^^"),
    ],
)
def test_caret(text: str, marked: str, expected: str) -> None:
    start = text.index(marked)
    *_, shown, carets = SourceText("s", text).span(start, start + len(marked)).excerpt().split("\n")
    assert carets.partition("| ")[2] == expected
    assert not shown.endswith("\r")


def test_an_empty_text_has_a_place_too() -> None:
    assert SourceText("s", "").span(0, 0).excerpt().endswith("| ^")


@pytest.mark.parametrize("filler", ["a", "表"])
@pytest.mark.parametrize(("before", "after"), [(0, 100_000), (100_000, 0), (100_000, 100_000)])
def test_a_long_line_is_cut_around_the_caret(filler: str, before: int, after: int) -> None:
    text = f"{filler * before} HERE {filler * after}"
    start = text.index("HERE")
    _, shown, carets = SourceText("s", text).span(start, start + 4).excerpt().split("\n")
    assert shown.count("…") == (before > 0) + (after > 0)
    assert len(shown) <= 170
    doubled = shown.replace("表", "表 ")
    assert doubled.index("HERE") == carets.index("^^^^")


def test_a_long_name_is_cut_as_well() -> None:
    _, shown, carets = SourceText("s", "a" * 1000).span(0, 1000).excerpt().split("\n")
    assert shown.endswith("a…")
    assert len(carets) == len(shown)


def test_a_caret_stands_right_behind_a_secret_of_any_length() -> None:
    text = f"'properties.ssl.key.password' = '{'x' * 50}', HERE"
    start = text.index("HERE")
    _, shown, carets = SourceText("s", text).span(start, start + 4).excerpt().split("\n")
    assert shown.index("HERE") == carets.index("^^^^")
    assert shown.count("*") == 6
