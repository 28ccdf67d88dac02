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
