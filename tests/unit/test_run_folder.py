"""The folder of a run goes when the run does, however it ended and wherever its workers were."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millstream.private_folder import NotPrivateError
from millstream.run_folder import RunFolder, hold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DRIVER = """
from millstream.run_folder import RunFolder
folder = RunFolder()
(folder.path / "job").mkdir()
print(folder.path, flush=True)
input()
"""
WORKER = """
import sys
from pathlib import Path
from millstream.run_folder import hold
hold(Path(sys.argv[1]))
hold(Path(sys.argv[1]))
(Path(sys.argv[1]) / "job").mkdir(exist_ok=True)
print(sys.argv[1], flush=True)
input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@contextmanager
def run_process(code: str, *arguments: str) -> Iterator[str]:
    """A process that holds a folder until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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


def test_workers_on_a_machine_without_their_driver_keep_their_folder_and_remove_others(temporary: Path) -> None:
    place = str(temporary / "millstream-run-of-a-far-driver")
    with run_process(WORKER, place):
        ours = RunFolder()
        assert sorted(temporary.iterdir()) == sorted([temporary / place, ours.path])
        ours.close()
        with run_process(WORKER, place):
            pass
        assert (temporary / place / "job").exists()
    with run_process(WORKER, str(temporary / "millstream-run-of-the-next")):
        assert [folder.name for folder in temporary.iterdir()] == ["millstream-run-of-the-next"]


@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_a_pipe_in_the_place_of_a_lock_stops_nobody(temporary: Path, mode: int) -> None:
    """Opening it would wait for ever for somebody to read."""
    other = temporary / "millstream-run-of-somebody"
    other.mkdir()
    other.chmod(mode)
    os.mkfifo(other / "lock")
    RunFolder().close()
    assert list(temporary.iterdir()) == [other]


@pytest.mark.parametrize("put", [Path.touch, lambda path: path.mkdir(mode=0o755), lambda path: path.symlink_to("/")])
def test_a_workers_folder_that_somebody_else_has_made_is_refused(
    temporary: Path, put: Callable[[Path], object]
) -> None:
    place = temporary / "millstream-run-of-a-far-driver"
    put(place)
    with pytest.raises(NotPrivateError, match="is not private"):
        hold(place)
