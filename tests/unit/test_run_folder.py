"""The folder of a run goes when the run does, however it ended."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from millstream.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DRIVER = """
from millstream.run_folder import RunFolder
folder = RunFolder()
(folder.path / "job").mkdir()
print(folder.path, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@contextmanager
def run_process(code: str) -> Iterator[str]:
    """A process that holds a folder until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def test_what_a_killed_run_left_is_removed_by_the_next(temporary: Path) -> None:
    with run_process(DRIVER) as killed:
        pass
    assert [str(folder) for folder in temporary.iterdir()] == [killed]
    ours = RunFolder()
    assert list(temporary.iterdir()) == [ours.path]
    ours.close()
    assert not list(temporary.iterdir())


def test_what_another_run_uses_stays(temporary: Path) -> None:
    with run_process(DRIVER) as other:
        RunFolder().close()
        assert (temporary / other / "job").exists()


@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_a_pipe_in_the_place_of_a_lock_stops_nobody(temporary: Path, mode: int) -> None:
    """Opening it would wait for ever for somebody to read."""
    other = temporary / "millstream-run-of-somebody"
    other.mkdir()
    other.chmod(mode)
    os.mkfifo(other / "lock")
    RunFolder().close()
    assert list(temporary.iterdir()) == [other]
