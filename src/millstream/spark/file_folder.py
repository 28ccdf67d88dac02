"""A folder to which each batch adds its files completely and once, on any file system that Spark supports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


class UnpublishedFilesError(Exception):
    """The files of a batch could not be moved, or not all of them; the text becomes the detail of the error."""


class FileFolder:
    """A batch writes to a hidden folder; its files are then moved to names that contain the job and the batch.

    The first batch of a run may have run before, and later ones too if the checkpoint is older than the files; so it
    removes the files that the job has moved since. If a move fails, the hidden folder stays and the batch fails.
    """

    def __init__(self, spark: SparkSession, location: str, job: str) -> None:
        jvm: Any = spark._jvm  # noqa: SLF001
        self._path_of: Any = jvm.org.apache.hadoop.fs.Path
        path = self._path_of(location)
        self._files = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
        self._root = self._files.makeQualified(path)  # as files are listed: `hdfs:///x` is not a prefix of their names
        self._job = job
        self._may_repeat = True

    def staging(self, batch: int) -> str:
        return str(self._staging(batch).toString())

    def publish(self, batch: int) -> None:
        if self._may_repeat:
            self._remove_from(batch)
        staging = self._staging(batch)
        for index, file in enumerate(self._written_files(staging)):
            into = self._target_of(file.getParent(), staging)
            suffix = file.getName().partition(".")[2]
            self._move(file, self._path_of(into, f"part-{self._job}-{batch}-{index}.{suffix}"))
        self._delete(staging)
        self._may_repeat = False

    def _staging(self, batch: int) -> Any:
        return self._path_of(self._root, f"_unfinished-{self._job}-{batch}")

    def _target_of(self, folder: Any, staging: Any) -> Any:
        """The same relative path below the root."""
        if folder.equals(staging):
            return self._root
        assert folder.getParent() is not None, f"{folder} is not in {staging}"
        return self._path_of(self._target_of(folder.getParent(), staging), folder.getName())

    def _move(self, file: Any, to: Any) -> None:
        """File systems report a failed rename differently: some raise, some return false."""
        if self._files.exists(to):
            raise UnpublishedFilesError(f"{to.toString()} already exists: a copy of this checkpoint writes there too")
        if not (self._files.mkdirs(to.getParent()) and self._files.rename(file, to)):
            raise UnpublishedFilesError(f"{file.toString()} could not be moved to {to.toString()}")

    def _remove_from(self, batch: int) -> None:
        name = re.compile(rf"part-{self._job}-(\d+)-.*")
        for file in list(self._all(self._root)):
            if (found := name.fullmatch(file.getName())) and int(found[1]) >= batch:
                self._delete(file)

    def _delete(self, path: Any) -> None:
        if not self._files.delete(path, True) and self._files.exists(path):
            raise UnpublishedFilesError(f"{path.toString()} could not be removed")

    def _written_files(self, folder: Any) -> list[Any]:
        """In the order of Spark's tasks, without Spark's own marker files."""
        found = [file for file in self._all(folder) if file.getName().startswith("part-")]
        return sorted(found, key=lambda file: str(file.toString()))

    def _all(self, folder: Any) -> Iterator[Any]:
        listed = self._files.listFiles(folder, True)
        while listed.hasNext():
            yield listed.next().getPath()
