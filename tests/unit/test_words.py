"""Phrases that must not come back are found, each with its plainer form."""

from __future__ import annotations

from tools.words import find_phrases, suggest


def test_phrase_is_found_with_its_line_in_any_case() -> None:
    assert list(find_phrases('fine\nit Stands twice, and "a" is no operator\n')) == [
        (2, "Stands twice"),
        (2, "is no operator"),
    ]


def test_plain_text_passes() -> None:
    assert list(find_phrases("job has been waiting since 14:03; == is not an operator")) == []


def test_plainer_form_is_suggested() -> None:
    assert suggest("Put a blank") == "a space"
