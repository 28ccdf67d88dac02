"""What is suggested for a word that is not known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millstream.spelling import closest, nearest

PACKAGE = Path(__file__).parents[2] / "src/millstream"
OF_ITS_OWN = {"spelling.py", "keys.py", "earlier_identities.py", "script_runner.py"}
"""Secrets are recognised, states and texts compared: none of these suggests a word."""


@pytest.mark.parametrize(
    ("written", "meant"), [("ordrs", "orders"), ("ORDERS", "orders"), ("Order", "orders"), ("cart", None), ("", None)]
)
def test_case_does_not_matter_and_some_likeness_is_needed(written: str, meant: str | None) -> None:
    assert nearest(written, ["orders", "payments"]) == meant


@pytest.mark.parametrize(
    ("written", "meant"), [("FORM", "FROM"), ("akcs", "acks"), ("order_id", None), ("connectr", "connector")]
)
def test_word_that_may_be_right_must_hardly_differ(written: str, meant: str | None) -> None:
    assert nearest(written, ["FROM", "acks", "ORDER", "connector"], may_be_right=True) == meant


def test_closest_are_given_however_different() -> None:
    assert closest("b", ["xyz", "b1", "bc"], 2) == ["bc", "b1"]


def test_likeness_is_measured_in_one_place() -> None:
    measuring = {path.name for path in PACKAGE.rglob("*.py") if re.search(r"\bdifflib\b", path.read_text())}
    assert measuring <= OF_ITS_OWN
