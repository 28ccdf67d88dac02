"""A folder that batches add files to, each batch wholly and once, on any file system Spark knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


class FileFolder:
    """A batch writes into a hidden folder; its files are then moved out under names that tell job and batch.

    A batch that is run again first removes the files that it had moved before.
    """

    def __init__(self, spark: SparkSession, location: str, job: str) -> None:
        jvm: Any = spark._jvm  # noqa: SLF001
        self._path_of: Any = jvm.org.apache.hadoop.fs.Path
        self._root = self._path_of(location)
        self._files = self._root.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
        self._job = job
        self._may_repeat = True

    def staging(self, batch: int) -> str:
        return str(self._staging(batch).toString())

    def publish(self, batch: int) -> None:
        names = f"part-{self._job}-{batch}-"
        if self._may_repeat:  # only the first batch of a run can have been run before
            self._remove(names)
            self._may_repeat = False
        staging = self._staging(batch)
        base = staging.toUri()
        for index, file in enumerate(self._written(staging)):
            folder = base.relativize(file.getParent().toUri()).getPath()
            into = self._path_of(self._root, folder) if folder else self._root
            self._files.mkdirs(into)
            suffix = file.getName().partition(".")[2]
            self._files.rename(file, self._path_of(into, f"{names}{index}.{suffix}"))
        self._files.delete(staging, True)

    def _staging(self, batch: int) -> Any:
        return self._path_of(self._root, f"_unfinished-{self._job}-{batch}")

    def _remove(self, prefix: str) -> None:
        for file in list(self._all(self._root)):
            if file.getName().startswith(prefix):
                self._files.delete(file, False)

    def _written(self, folder: Any) -> list[Any]:
        """In the order of Spark's tasks; its own marks are left behind."""
        found = [file for file in self._all(folder) if file.getName().startswith("part-")]
        return sorted(found, key=lambda file: str(file.toString()))

    def _all(self, folder: Any) -> Iterator[Any]:
        listed = self._files.listFiles(folder, True)
        while listed.hasNext():
            yield listed.next().getPath()
