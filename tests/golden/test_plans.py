"""Each `plans/*.sql` has exactly the plan beside it, with the changes and keys of every step."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.plan.program import compile_script
from millstream.source import SourceText

SCRIPTS = sorted((Path(__file__).parent / "plans").glob("*.sql"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_plan(script: Path, record: bool) -> None:  # noqa: FBT001
    program = compile_script(SourceText(script.name, script.read_text()), {}, {})
    found = "\n".join(f"{job.name}\n{job.explain()}\n" for job in program.jobs)
    expected = script.with_suffix(".txt")
    if record:
        expected.write_text(found)
    assert found == expected.read_text()
