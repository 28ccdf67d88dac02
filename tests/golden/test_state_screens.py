"""`millstream state`: its listing, and what it says where there is nothing to list. One screen per test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.plan.program import compile_script
from millstream.runtime.checkpoint import Checkpoint
from millstream.runtime.checkpoint_marker import read_jobs, write_jobs
from millstream.runtime.state_quota import find_excess, measure_operators
from millstream.source import SourceText
from tests.begun_batches import begin_a_batch, end_a_batch
from tests.golden.conftest import SCREENS, run_call, run_command
from tests.manifests import write_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

VISITS = (SCREENS / "visits.sql").read_text()


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "visits.sql"
    script.write_text(VISITS)
    return script


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The folder of a job that has finished batch 7 and is in the middle of batch 8."""
    checkpoint = Checkpoint(tmp_path / ".millstream" / "visits")
    [plan] = compile_script(SourceText("visits.sql", VISITS), {}, {}).jobs
    folder = checkpoint.new_job(plan, buckets=8).path
    checkpoint.record_start(plan)
    checkpoint.release()
    for number in range(8):
        begin_a_batch(folder, number)
        end_a_batch(folder, number)
    begin_a_batch(folder, 8)
    state = folder / "kernels" / "aggregate-1"
    write_manifest(state / "0", 2, {"groups": [(5, 1800)], "multiset-0": [(1_204_331, 30_108_275)]})
    write_manifest(state / "3", 7, {"groups": [(4, 1500)], "multiset-0": [(700_000, 17_500_000), (310, 9000)]})
    write_manifest(state / "3", 8, {"groups": [(9, 9999)], "multiset-0": [(900_000, 22_500_000)]})
    return folder


def test_state(job: Path, record: bool) -> None:  # noqa: FBT001
    assert job.is_dir()
    result = CliRunner().invoke(app, ["state", "visits.sql"])
    assert (result.exit_code, result.stderr) == (0, "")
    expected = SCREENS / "state.txt"
    if record:
        expected.write_text(result.stdout)
    assert result.stdout == expected.read_text()


def test_state_without_checkpoint(expect_screen: Callable[..., None]) -> None:
    expect_screen(run_command("state", "visits.sql"))


def test_state_of_another_script(job: Path, expect_screen: Callable[..., None]) -> None:
    assert job.is_dir()
    Path("other.sql").write_text(VISITS.replace("visitors", "guests"))
    expect_screen(run_command("state", "other.sql", "--checkpoint", ".millstream/visits"))


def test_state_of_stateless_job(script: Path, expect_screen: Callable[..., None]) -> None:
    script.write_text(VISITS.replace("COUNT(DISTINCT visitor) FROM visits GROUP BY region", "visitor FROM visits"))
    expect_screen(run_command("state", "visits.sql"))


def test_state_damaged(job: Path, expect_screen: Callable[..., None]) -> None:
    (job / "kernels" / "aggregate-1" / "3" / "7.json").write_text("{")
    expect_screen(run_command("state", "visits.sql"))


def test_state_of_another_layout(job: Path, expect_screen: Callable[..., None]) -> None:
    marker = job.parents[1] / "millstream.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "layout": 4}))
    expect_screen(run_command("state", "visits.sql"))


def test_state_too_large(job: Path, expect_screen: Callable[..., None]) -> None:
    """As it ends a running job, and as it refuses to start one."""
    [plan] = compile_script(SourceText("visits.sql", VISITS), {}, {"millstream.state.max-size": "40 mb"}).jobs
    excess = find_excess(plan, measure_operators(plan, job / "kernels"))
    assert excess is not None
    expect_screen(run_call(lambda: _raise(excess)))


def _raise(error: Exception) -> None:
    raise error


def test_state_of_earlier_version(job: Path, expect_screen: Callable[..., None]) -> None:
    _describe_as(3, job.parents[1])
    expect_screen(run_command("state", "visits.sql"))


def test_state_in_files_of_earlier_version(job: Path, expect_screen: Callable[..., None]) -> None:
    _describe_as(4, job.parents[1])
    expect_screen(run_command("state", "visits.sql"))


def _describe_as(identity: int, root: Path) -> None:
    write_jobs(root, {name: {**known, "identity": identity} for name, known in read_jobs(root).items()})
