"""`millstream options` shows what the declarations say."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app


def show(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["options", *arguments])
    return result.exit_code, result.output


def test_format_of_files_alone() -> None:
    code, output = show("parquet")
    assert (code, output.splitlines()[0]) == (0, "file format parquet")
    assert "'parquet.compression'" in output


@pytest.mark.parametrize("name", ["csv", "json"])
def test_format_of_messages_and_of_files(name: str) -> None:
    _, output = show(name, "--json")
    assert [entry["kind"] for entry in json.loads(output)] == ["format", "file format"]


def test_filesystem_has_its_formats() -> None:
    _, output = show("Filesystem", "--json")
    assert [entry["identifier"] for entry in json.loads(output)] == ["filesystem", "csv", "json", "parquet"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("json", "Gives and takes inserts."),
        ("debezium-json", "Gives and takes changes (I, UB, UA, D)."),
        ("print", "Takes all changes."),
    ],
)
def test_changes_are_sentences(name: str, sentence: str) -> None:
    assert sentence in " ".join(show(name)[1].split())
