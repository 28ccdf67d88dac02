"""Screens are compared as a whole, after replacing what differs from run to run by names."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from millstream.cli.guard import run_guarded
from millstream.cli.main import app

if TYPE_CHECKING:
    from collections.abc import Callable

SCREENS = Path(__file__).parent / "screens"
OF_A_SCRIPT = "M1", "M2", "M3"


@dataclass(frozen=True)
class Screen:
    """An error as the user sees it, from its first word on, and the exit code."""

    text: str
    exit_code: int

    def replace_names(self, names: dict[str, str]) -> str:
        text = self.text
        for found in sorted(names, key=len, reverse=True):
            text = text.replace(found, names[found])
        return re.sub(r"process \d+", "process 4711", text)


def run_command(*arguments: object) -> Screen:
    """A command, as typed."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return screen(result.stderr, result.exit_code)


def run_call(call: Callable[[], object]) -> Screen:
    """An exception of Python code, as the command line would show it."""

    def command() -> int:
        call()
        return 0

    with redirect_stderr(io.StringIO()) as shown:
        exit_code = run_guarded(command, verbose=False)
    return screen(shown.getvalue(), exit_code)


def screen(output: str, exit_code: int) -> Screen:
    """Without the notices before the error."""
    assert "error[" in output, f"exit code {exit_code}: {output}"
    return Screen(output[output.index("error[") :], exit_code)


@pytest.fixture
def expect_screen(request: pytest.FixtureRequest, record: bool, tmp_path: Path) -> Callable[..., None]:  # noqa: FBT001
    """Compares with the screen of the test's name: test_java_missing with screens/java_missing.txt."""

    def compare(shown: Screen, **names: str) -> None:
        text = shown.replace_names({str(tmp_path): "/home/you", **{found: name for name, found in names.items()}})
        expected = SCREENS / f"{request.node.name.removeprefix('test_')}.txt"
        if record:
            expected.write_text(text)
        assert text == expected.read_text()
        code = text[len("error[") :]
        assert shown.exit_code == (2 if code.startswith(OF_A_SCRIPT) else 1)

    return compare
