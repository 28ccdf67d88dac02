"""Each `errors/*.sql` has exactly the screen beside it. `pytest --record` rewrites the screens."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import ScriptError
from millstream.plan.program import compile_script
from millstream.runtime.before_start import refuse_unbuilt
from millstream.source import SourceText

FOLDER = Path(__file__).parent / "errors"
SCRIPTS = sorted(FOLDER.glob("*.sql"))


def screen(script: Path) -> str:
    with pytest.raises(ScriptError) as caught:
        refuse_unbuilt(compile_script(SourceText(script.name, script.read_text()), {}, {}))
    return f"{caught.value}\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_screen(script: Path, record: bool) -> None:  # noqa: FBT001
    expected = script.with_suffix(".txt")
    found = screen(script)
    if record:
        expected.write_text(found)
    assert found == expected.read_text()


def test_seven_mistakes_give_seven_diagnostics() -> None:
    assert screen(FOLDER / "seven_mistakes.sql").count("error[") == 7
