"""A Spark with another default file system: both parts of a checkpoint stay together on this machine."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.faults.processes import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
CREATE TABLE numbers (n INT) WITH (
  'connector' = 'datagen', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '50');
CREATE TABLE copies (n INT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'json');
INSERT INTO copies SELECT n FROM numbers;
INSERT INTO copies VALUES (0);
"""


@pytest.mark.slow
@pytest.mark.parametrize("checkpoint", ["my %41 {jobs}", "file://{}/my%20jobs"])
def test_checkpoint_stays_on_this_machine(tmp_path: Path, checkpoint: str) -> None:
    (tmp_path / "copies.sql").write_text(SCRIPT)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    location = checkpoint.replace("file://{}", f"file://{tmp_path}")
    settings = [
        "spark.hadoop.fs.defaultFS=viewfs://shop/",
        f"spark.hadoop.fs.viewfs.mounttable.shop.linkFallback=file://{elsewhere}",
    ]
    command = [*COMMAND, "run", "copies.sql", "--checkpoint", location, *(f"--set={setting}" for setting in settings)]
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert sum(len(file.read_text().splitlines()) for file in (tmp_path / "out").glob("part-*")) == 51
    assert list(elsewhere.rglob("*")) == []
    [folder] = tmp_path.glob("my*")
    assert folder.name == ("my jobs" if location.startswith("file:") else location)
    for job in ("copies", "copies-2"):
        assert (folder / "jobs" / job / "commits" / "0").exists()
    assert (folder / "millstream.json").exists()
