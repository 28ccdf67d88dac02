"""Local copies of state go when their run does, however it ended."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from millstream.runtime.cache_folder import CacheFolder

if TYPE_CHECKING:
    from pathlib import Path

KILLED = """
import os, signal
from millstream.runtime.cache_folder import CacheFolder
folder = CacheFolder("killed")
(folder.path / "job").mkdir()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_what_a_killed_run_left_is_removed_by_the_next(temporary: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert (temporary / "millstream-segments-killed" / "job").exists()
    ours = CacheFolder("ours")
    assert [folder.name for folder in temporary.iterdir()] == ["millstream-segments-ours"]
    ours.close()
    assert not list(temporary.iterdir())


def test_what_another_run_uses_stays() -> None:
    other = CacheFolder("other")
    (other.path / "job").mkdir()
    CacheFolder("ours").close()
    assert (other.path / "job").exists()
    other.close()
