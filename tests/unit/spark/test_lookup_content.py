"""Rows of files as a worker keeps them: read again when they are written again, forgotten when the job has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from millstream.connectors.lookup_options import LookupSettings
from millstream.spark import lookup_content
from millstream.spark.lookup_content import FileContent, LookupReadError, release_ended
from millstream.spark.lookup_upkeep import FileReading
from millstream.spark.worker_daemon import run_task

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64())])


def content_in(folder: Path, ids: list[int]) -> FileContent:
    content = FileContent(folder / "lookup-1-a.rows", None, SCHEMA)
    content.write(pa.table([ids], schema=SCHEMA))
    return content


def ids_of(content: FileContent) -> list[int]:
    found: list[int] = content.rows_now().rows.column("id").to_pylist()
    return found


def test_what_is_written_again_is_read_again(tmp_path: Path) -> None:
    content = content_in(tmp_path, [1, 2])
    assert ids_of(content) == [1, 2]
    kept = content.rows_now()
    assert content.rows_now() is kept
    content.write(pa.table([[3]], schema=SCHEMA))
    assert ids_of(content) == [3]
    assert [file.name for file in tmp_path.iterdir()] == ["lookup-1-a.rows"]


def test_rows_are_forgotten_by_the_next_task_after_the_end_of_their_job(tmp_path: Path) -> None:
    content = content_in(tmp_path, [1])
    ids_of(content)
    release_ended()
    assert content.file in lookup_content._KEPT
    content.file.unlink()
    assert run_task(lambda: 0) == 0
    assert content.file not in lookup_content._KEPT


def test_files_that_cannot_be_read_again_fail_who_asks_for_their_rows(tmp_path: Path) -> None:
    content = content_in(tmp_path, [1])
    attempts: list[int] = []

    def read() -> None:
        attempts.append(1)
        raise OSError("the folder is gone")

    FileReading(LookupSettings(retries=2), read, content.fail).read_again()
    assert len(attempts) == 3
    with pytest.raises(LookupReadError, match="the folder is gone"):
        content.rows_now()


def test_reading_is_tried_again(tmp_path: Path) -> None:
    content = content_in(tmp_path, [1])
    failures = [OSError("busy")]

    def read() -> None:
        if failures:
            raise failures.pop()
        content.write(pa.table([[2]], schema=SCHEMA))

    FileReading(LookupSettings(retries=1), read, content.fail).read_again()
    assert ids_of(content) == [2]
