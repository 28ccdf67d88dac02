"""Temporary folders are this user's alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millstream.private_folder import NotPrivateError, is_private_folder, make_private_folder, open_lock

OTHER_USER = 54321


def foreign_folder(tmp_path: Path) -> Path:
    """Another user's: root may make one, anybody else has those of root."""
    if os.geteuid() != 0:
        return Path("/usr")
    (tmp_path / "foreign").mkdir(mode=0o700)
    os.chown(tmp_path / "foreign", OTHER_USER, -1)
    return tmp_path / "foreign"


def test_all_folders_that_are_made_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    make_private_folder(folder)
    make_private_folder(folder)
    assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent)] == [0o700, 0o700]
    assert is_private_folder(folder)


def test_another_users_folder_is_refused(tmp_path: Path) -> None:
    folder = foreign_folder(tmp_path)
    assert not is_private_folder(folder)
    with pytest.raises(NotPrivateError, match="belongs to another user"):
        make_private_folder(folder)


def test_a_link_to_a_folder_of_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "ours")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("link", "dangling"):
        assert not is_private_folder(tmp_path / name)
        with pytest.raises(NotPrivateError, match="not a folder"):
            make_private_folder(tmp_path / name)


def test_a_lock_is_a_file_of_ours(tmp_path: Path) -> None:
    with open_lock(tmp_path / "lock") as lock:
        assert os.fstat(lock.fileno()).st_mode & 0o777 == 0o600
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotPrivateError):
        open_lock(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "lock")
    with pytest.raises(NotPrivateError, match="symbolic link"):
        open_lock(tmp_path / "link")


def test_nothing_is_there(tmp_path: Path) -> None:
    assert not is_private_folder(tmp_path / "nothing")
