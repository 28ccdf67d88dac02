"""The files of a batch are moved to their destination: all of them, or the batch fails and none is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from millstream.spark.file_folder import FileFolder, UnpublishedFilesError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

JOB = "0a1b2c3d4e5f"


class Refusing:
    """A file system that returns false from one call, as HDFS and object stores do instead of raising."""

    def __init__(self, real: Any, method: str, when: int) -> None:
        self._real = real
        self._method = method
        self._left = when

    def __getattr__(self, name: str) -> Any:
        if name == self._method:
            self._left -= 1
            if self._left == 0:
                return lambda *_: False
        return getattr(self._real, name)


def stage(root: Path, batch: int, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / f"_unfinished-{JOB}-{batch}" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def read_published(root: Path) -> dict[str, str]:
    files = (file for file in root.rglob("part-*") if "_unfinished" not in str(file))
    return {str(file.relative_to(root)): file.read_text() for file in files}


def read_staged(root: Path) -> set[str]:
    return {file.read_text() for file in root.glob("_unfinished-*/**/part-*")}


def folder_at(spark: SparkSession, root: Path) -> FileFolder:
    return FileFolder(spark, f"file:{root}", JOB)


THREE = {"part-00000-a.json": "0", "day=1/part-00000-a.json": "1", "part-00001-a.json": "2"}


@pytest.mark.parametrize("method", ["rename", "mkdirs"])
@pytest.mark.parametrize("when", [1, 2, 3])
def test_what_is_not_moved_stays_and_the_batch_fails(
    spark: SparkSession, tmp_path: Path, method: str, when: int
) -> None:
    root = tmp_path / "out"
    stage(root, 0, THREE)
    folder = folder_at(spark, root)
    folder._files = Refusing(folder._files, method, when)
    with pytest.raises(UnpublishedFilesError, match="could not be moved"):
        folder.publish(0)
    assert len(read_published(root)) == when - 1
    assert read_staged(root) | set(read_published(root).values()) == set(THREE.values())
    stage(root, 0, THREE)
    folder_at(spark, root).publish(0)
    assert sorted(read_published(root).values()) == sorted(THREE.values())
    assert read_staged(root) == set()


def test_old_files_that_cannot_be_removed_are_not_joined_by_new_ones(spark: SparkSession, tmp_path: Path) -> None:
    stage(tmp_path, 0, THREE)
    folder_at(spark, tmp_path).publish(0)
    stage(tmp_path, 0, {"part-00000-b.json": "new"})
    folder = folder_at(spark, tmp_path)
    folder._files = Refusing(folder._files, "delete", 1)
    with pytest.raises(UnpublishedFilesError, match="could not be removed"):
        folder.publish(0)
    assert read_staged(tmp_path) == {"new"}


def test_older_checkpoint_replaces_all_that_came_later(spark: SparkSession, tmp_path: Path) -> None:
    """Then batches may be divided differently, and have fewer files."""
    first = folder_at(spark, tmp_path)
    for batch in range(12):
        stage(tmp_path, batch, {name: f"{batch} {text}" for name, text in THREE.items()})
        first.publish(batch)
    again = folder_at(spark, tmp_path)
    for batch in (2, 3):
        stage(tmp_path, batch, {"part-00000-b.json": f"{batch} anew"})
        again.publish(batch)
    kept = {f"{batch} {text}" for batch in (0, 1) for text in THREE.values()}
    assert set(read_published(tmp_path).values()) == kept | {"2 anew", "3 anew"}


def test_files_of_another_writer_are_not_overwritten(spark: SparkSession, tmp_path: Path) -> None:
    folder = folder_at(spark, tmp_path)
    stage(tmp_path, 0, THREE)
    folder.publish(0)
    (tmp_path / f"part-{JOB}-1-0.json").write_text("of a copy")
    stage(tmp_path, 1, {"part-00000-a.json": "mine"})
    with pytest.raises(UnpublishedFilesError, match="already exists"):
        folder.publish(1)
    assert (tmp_path / f"part-{JOB}-1-0.json").read_text() == "of a copy"
    assert read_staged(tmp_path) == {"mine"}


@pytest.fixture
def view(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A location without the name of its file system, which Hadoop adds from its default: like `hdfs:///out`."""
    configuration: Any = spark._jsc.hadoopConfiguration()
    before = configuration.get("fs.defaultFS")
    configuration.set("fs.viewfs.mounttable.shop.link./out", f"file:{tmp_path}")
    configuration.set("fs.defaultFS", "viewfs://shop/")
    yield "viewfs:///out"
    configuration.set("fs.defaultFS", before)


def test_location_without_the_name_of_its_file_system(spark: SparkSession, tmp_path: Path, view: str) -> None:
    stage(tmp_path, 0, THREE)
    FileFolder(spark, view, JOB).publish(0)
    assert sorted(read_published(tmp_path).values()) == sorted(THREE.values())
    assert len(list((tmp_path / "day=1").iterdir())) >= 1
