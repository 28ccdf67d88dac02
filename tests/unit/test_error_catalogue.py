"""Every code is explained once, in the right place, in our words, with a screen that shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from millstream.error_catalogue import GROUPS, explanation_of
from millstream.errors import Code
from tools.pages.errors import GOLDEN, SCREENS, diagnostics_of, example

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.error_catalogue import Group

ALL_SCREENS = sorted(path for folder in SCREENS for path in folder.glob("*.txt"))
AVOIDED = re.compile(r"\b(unable|bad|illegal|unknown|sqlglot|py4j|dataframe|traceback)\b", re.IGNORECASE)
PRIMARY = re.compile(r"^error\[(M\d{4})\] (.*)$", re.MULTILINE)
LONGEST_PRIMARY = 100
_PATH = re.compile(r"/home/you/\S*/")


@pytest.mark.parametrize("code", Code, ids=lambda code: code.name)
def test_code_is_explained_in_its_group(code: Code) -> None:
    groups = [group.title[:2] for group in GROUPS if code in group.explanations]
    assert groups == [code[:2]], f"{code.name} needs one entry, in the group {code[:2]} of error_catalogue"


@pytest.mark.parametrize("code", Code, ids=lambda code: code.name)
def test_code_has_a_screen(code: Code) -> None:
    name = explanation_of(code).example
    path = example(name)
    assert path is not None, f"{code.name} needs a golden screen called {name}"
    assert diagnostics_of(code, path.read_text()), f"{path.name} does not show {code.name}"


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_codes_stand_in_order(group: Group) -> None:
    codes = list(group.explanations)
    assert codes == sorted(codes)


@pytest.mark.parametrize("code", Code, ids=lambda code: code.name)
def test_explanation_is_well_worded(code: Code) -> None:
    explanation = explanation_of(code)
    assert explanation.title
    assert not explanation.title.endswith(".")
    assert explanation.cause.endswith(".")
    assert explanation.fix.endswith(".")
    assert AVOIDED.findall(f"{explanation.title} {explanation.cause} {explanation.fix}") == []


@pytest.mark.parametrize("path", ALL_SCREENS, ids=lambda path: path.stem)
def test_screen_is_well_worded(path: Path) -> None:
    text = path.read_text()
    assert AVOIDED.findall(text) == []
    for code, primary in PRIMARY.findall(text):
        assert len(_PATH.sub("", primary)) <= LONGEST_PRIMARY, code  # the length of a path is not ours to choose
        assert not primary.endswith("."), code
    for line in text.splitlines():
        if line.startswith("hint: "):
            assert line.endswith((".", "?")), line


@pytest.mark.parametrize("path", sorted(SCREENS[1].glob("*.txt")), ids=lambda path: path.stem)
def test_screen_has_a_test_that_makes_it(path: Path) -> None:
    tests = "".join(file.read_text() for file in GOLDEN.glob("test_*.py"))
    assert f"def test_{path.stem}(" in tests
