"""What is said of functions, whatever they compute."""

from __future__ import annotations

from millstream.plan.functions.registry import FUNCTIONS, MISSING


def test_no_function_is_both_there_and_missing() -> None:
    assert FUNCTIONS.keys() & MISSING.keys() == set()


def test_notes_and_reasons_are_sentences() -> None:
    texts = [function.note for function in FUNCTIONS.values() if function.note]
    texts += [text for missing in MISSING.values() for text in (missing.reason, missing.instead) if text]
    assert [text for text in texts if not (text[0].isupper() and text.endswith("."))] == []
