"""One row changes that very many rows follow: their changes come piece by piece, in memory that is bounded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
FEW, MANY = 200_000, 1_000_000
LARGEST_TABLE = 1 << 17
MORE = 120
"""Megabytes that the larger storm may take beyond the smaller one; all of its rows together take twice as much."""
KINDS = ("INNER", "LEFT", "SEMI", "FULL-condition")


def run_storm(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "tests.unit.kernels.storm", str(folder), *arguments]
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True).stdout


def storm(folder: Path, kind: str, rows: int) -> dict[str, int]:
    folder.mkdir()
    run_storm(folder, kind, "fill", str(rows))
    found: dict[str, int] = json.loads(run_storm(folder, kind, "change"))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])])
def test_memory_does_not_depend_on_how_many_rows_follow(kind: str, tmp_path: Path) -> None:
    few, many = storm(tmp_path / "few", kind, FEW), storm(tmp_path / "many", kind, MANY)
    changes = 1 if kind == "SEMI" else 2
    assert (few["changes"], many["changes"]) == (changes * FEW, changes * MANY)
    assert max(few["largest"], many["largest"]) <= LARGEST_TABLE
    assert many["megabytes"] <= few["megabytes"] + MORE, (few, many)
