"""Each `errors/*.sql` gives exactly the screen beside it. `pytest --record` writes the screens anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import Code, ScriptError
from millstream.plan.program import compile_script
from millstream.source import SourceText

FOLDER = Path(__file__).parent / "errors"
SCRIPTS = sorted(FOLDER.glob("*.sql"))
RAISED_WHILE_COMPILING = {code for code in Code if code.value[1] in "123"} - {
    Code.UNREADABLE_SCRIPT,
    Code.BAD_ARGUMENT,
    Code.INVALID_FUNCTION,
}


def screen(script: Path) -> str:
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText(script.name, script.read_text()), {}, {})
    return f"{caught.value}\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_screen(script: Path, record: bool) -> None:  # noqa: FBT001
    expected = script.with_suffix(".txt")
    found = screen(script)
    if record:
        expected.write_text(found)
    assert found == expected.read_text()


def test_every_code_of_a_script_has_a_screen() -> None:
    shown = "".join(screen(script) for script in SCRIPTS)
    assert {code for code in RAISED_WHILE_COMPILING if f"[{code}]" not in shown} == set()


def test_seven_mistakes_give_seven_diagnostics() -> None:
    assert screen(FOLDER / "seven_mistakes.sql").count("error[") == 7
