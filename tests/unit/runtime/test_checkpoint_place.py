"""Where a checkpoint may lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from millstream import Session
from millstream.cli.main import app
from millstream.errors import Code, ScriptError
from millstream.runtime.checkpoint_place import checkpoint_folder


@pytest.mark.parametrize(
    ("location", "folder"),
    [
        ("c", "c"),
        ("/var/c", "/var/c"),
        ("../a:b/c", "../a:b/c"),
        ("file:/var/c", "/var/c"),
        ("file:///var/my%20jobs", "/var/my jobs"),
        ("file://localhost/var/c", "/var/c"),
        ("FILE:///var/c", "/var/c"),
        (Path("file:///var/c"), "/var/c"),
        (Path("/mnt/s3a:/c"), "/mnt/s3a:/c"),
        ("file:///data/job#1", "/data/job#1"),
        ("file:/data/job?a=1#2", "/data/job?a=1#2"),
        ("file:///data/job%232", "/data/job#2"),
        ("./job:1", "./job:1"),
    ],
)
def test_folder_of_this_machine(location: str | Path, folder: str) -> None:
    assert checkpoint_folder(location) == Path(folder)


REMOTE = ["s3a://bucket/jobs", "s3://bucket", "hdfs://name:8020/jobs", "hdfs:///jobs", "abfss://c@a.net/x"]


@pytest.mark.parametrize(
    "location", [*REMOTE, "gs://b/x", "viewfs:/x", "file://other/x", "file://localhost", Path("s3a://bucket/jobs")]
)
def test_other_file_systems_are_refused(location: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScriptError) as caught:
        Session(checkpoint=location)
    assert caught.value.code is Code.BAD_ARGUMENT
    assert str(location) in caught.value.diagnostics[0].primary
    assert caught.value.diagnostics[0].hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("location", ["file:jobs/x", "hdfs:foo", "job:1", Path("file:jobs/x")])
def test_scheme_without_a_slash_is_refused(
    location: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScriptError) as caught:
        checkpoint_folder(location)
    assert caught.value.code is Code.BAD_ARGUMENT
    assert caught.value.diagnostics[0].hint == f"For the local folder, write {tmp_path / location}."
    assert checkpoint_folder(tmp_path / location) == tmp_path / location


def test_folder_that_an_earlier_version_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3a:" / "bucket").mkdir(parents=True)
    with pytest.raises(ScriptError, match=f"{tmp_path}/s3a:/bucket"):
        checkpoint_folder("s3a://bucket")


@pytest.mark.parametrize("arguments", [["s3a://bucket/c", "copy"], ["c", "s3a://bucket/copy"]])
def test_savepoint_elsewhere_is_refused(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["savepoint", *arguments])
    assert result.exit_code == 2
    assert "M1006" in result.stderr
    assert "s3a://bucket/c" in result.stderr
    assert list(tmp_path.iterdir()) == []
