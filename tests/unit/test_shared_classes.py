"""Java's class archive in the cache folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from millstream.jvm.java import find_java
from millstream.jvm.shared_classes import shared_classes

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_archives_of_killed_runs_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path))
    java = find_java()
    made = shared_classes(java, tmp_path)
    assert made.archive is not None
    old, young = made.archive.with_suffix(".1"), made.archive.with_suffix(".2")
    for file in (old, young):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("half an archive")
    os.utime(old, (0, 0))
    assert shared_classes(java, tmp_path).is_being_made
    assert (old.exists(), young.exists()) == (False, True)


def test_an_archive_of_replaced_jar_files_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "cache"))
    jar = tmp_path / "jars" / "spark-core.jar"
    jar.parent.mkdir()
    jar.write_text("classes")
    java = find_java()
    made = shared_classes(java, tmp_path)
    assert made.unfinished is not None
    assert made.archive is not None
    made.unfinished.parent.mkdir(exist_ok=True)
    made.unfinished.write_text("an archive")
    made.keep()
    assert shared_classes(java, tmp_path).java_option == f"-XX:SharedArchiveFile={made.archive}"
    os.utime(jar, (0, 0))
    assert shared_classes(java, tmp_path).is_being_made
    assert not made.archive.exists()
