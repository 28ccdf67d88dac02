"""Errors as data: what a program reads is what a person sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from millstream.error_catalogue import explanation_of
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.source import SourceText

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject


def test_diagnostic_as_json() -> None:
    source = SourceText("orders.sql", "SELECT\n  amuont\nFROM orders")
    diagnostic = Diagnostic(Code.UNDEFINED_COLUMN, "no such column", source.span(9, 15), hint="Correct it.")
    assert diagnostic.as_json() == {
        "code": "M2003",
        "title": explanation_of(Code.UNDEFINED_COLUMN).title,
        "primary": "no such column",
        "detail": None,
        "hint": "Correct it.",
        "place": {"file": "orders.sql", "line": 2, "column": 3, "end_line": 2, "end_column": 9, "text": "amuont"},
    }


def test_error_as_json_has_all_diagnostics_in_order() -> None:
    error = ScriptError([Diagnostic(Code.SYNTAX, "first"), Diagnostic(Code.UNDEFINED_TABLE, "second")])
    assert [(found["code"], found["place"]) for found in error.as_json()["errors"]] == [
        ("M1001", None),
        ("M2001", None),
    ]


@given(st.text(alphabet="ab \n", min_size=1), st.data())
def test_place_leads_back_to_the_text(text: str, data: DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    place = SourceText("x.sql", text).span(start, end).as_json()
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    assert starts[int(place["line"]) - 1] + int(place["column"]) - 1 == start
    assert starts[int(place["end_line"]) - 1] + int(place["end_column"]) - 1 == end
    assert place["text"] == text[start:end]
