"""Local copies of state go when their run does, however it ended and wherever its workers were."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millstream.kernels.cache_folder import CacheFolder, hold
from millstream.kernels.segment_cache import SegmentCache
from millstream.kernels.segment_log import MemorySegmentLog
from millstream.kernels.state_table import StateTable
from millstream.private_folder import NotPrivateError
from tests.unit.kernels.stored_rows import KEY, VALUE, look_up, rows_to_put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DRIVER = """
from millstream.kernels.cache_folder import CacheFolder
folder = CacheFolder()
(folder.path / "job").mkdir()
print(folder.path, flush=True)
input()
"""
WORKER = """
import sys
from pathlib import Path
from millstream.kernels.cache_folder import hold
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
    ours = CacheFolder()
    assert list(temporary.iterdir()) == [ours.path]
    ours.close()
    assert not list(temporary.iterdir())


def test_what_another_run_uses_stays(temporary: Path) -> None:
    with run_process(DRIVER) as other:
        CacheFolder().close()
        assert (temporary / other / "job").exists()


def test_workers_on_a_machine_without_their_driver_keep_their_folder_and_remove_others(temporary: Path) -> None:
    place = str(temporary / "millstream-segments-of-a-far-driver")
    with run_process(WORKER, place):
        ours = CacheFolder()
        assert sorted(temporary.iterdir()) == sorted([temporary / place, ours.path])
        ours.close()
        with run_process(WORKER, place):
            pass
        assert (temporary / place / "job").exists()
    with run_process(WORKER, str(temporary / "millstream-segments-of-the-next")):
        assert [folder.name for folder in temporary.iterdir()] == ["millstream-segments-of-the-next"]


def test_worker_of_a_run_goes_on_when_its_folder_was_removed(temporary: Path) -> None:
    cache, log = SegmentCache(temporary / "run" / "job"), MemorySegmentLog()
    table = StateTable(KEY, VALUE, log, cache)
    table.put(rows_to_put({1: 1}, colliding=False))
    for file in (temporary / "run" / "job").iterdir():
        file.unlink()
    (temporary / "run" / "job").rmdir()
    assert look_up(table, [1], colliding=False) == {1: 1}
    table.put(rows_to_put({2: 2}, colliding=False))
    assert look_up(StateTable(KEY, VALUE, log, cache), [1, 2], colliding=False) == {1: 1, 2: 2}


def test_what_failed_batches_left_goes_first_and_all_of_it(temporary: Path) -> None:
    """A batch that failed wrote pieces that no manifest knows: never used, they are the oldest when room is needed."""
    log = MemorySegmentLog()
    StateTable(KEY, VALUE, log, SegmentCache(temporary)).put(rows_to_put({1: 1}, colliding=False))
    committed = {file.name for file in temporary.iterdir()}
    for _ in range(20):
        failed = MemorySegmentLog()
        StateTable(KEY, VALUE, failed, SegmentCache(temporary)).put(rows_to_put({2: 2}, colliding=False))
    room = 2 * max(file.stat().st_size for file in temporary.iterdir())
    assert look_up(StateTable(KEY, VALUE, log, SegmentCache(temporary)), [1, 2], colliding=False) == {1: 1}
    SegmentCache(temporary, limit=room).trim()
    left = {file.name for file in temporary.iterdir()}
    assert committed <= left
    assert len(left) <= 2


@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_a_pipe_in_the_place_of_a_lock_stops_nobody(temporary: Path, mode: int) -> None:
    """Opening it would wait for ever for somebody to read."""
    other = temporary / "millstream-segments-of-somebody"
    other.mkdir()
    other.chmod(mode)
    os.mkfifo(other / "lock")
    CacheFolder().close()
    assert list(temporary.iterdir()) == [other]


@pytest.mark.parametrize("put", [Path.touch, lambda path: path.mkdir(mode=0o755), lambda path: path.symlink_to("/")])
def test_a_workers_folder_that_somebody_else_has_made_is_refused(
    temporary: Path, put: Callable[[Path], object]
) -> None:
    place = temporary / "millstream-segments-of-a-far-driver"
    put(place)
    with pytest.raises(NotPrivateError, match="is not private"):
        hold(place)


def test_a_cache_that_somebody_else_has_made_is_refused(temporary: Path) -> None:
    (temporary / "job").mkdir(mode=0o755)
    with pytest.raises(NotPrivateError, match="mode 0755"):
        SegmentCache(temporary / "job")
