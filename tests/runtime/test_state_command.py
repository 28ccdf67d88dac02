"""`millstream state` on a real job, while it runs and after it has stopped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from millstream import Session
from millstream.cli.main import app
from millstream.runtime.kafka.admin import KafkaAdmin
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers
from tests.runtime.topics import fresh_name, produce

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession


def test_sizes_of_a_running_and_of_a_stopped_job(
    broker: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parameters = {"brokers": broker, "numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    for name in ("numbers", "digits"):
        KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(parameters[name], parameters[name])
    (tmp_path / "digits.sql").write_text(SCRIPT)
    produce(broker, parameters["numbers"], numbers(range(2000)))
    with Session(spark, checkpoint=tmp_path / ".millstream" / "digits") as session:
        [job] = session.execute_sql(SCRIPT, parameters=parameters)
        job.await_caught_up(PATIENCE)
        running = _state(parameters)
        assert job.progress is not None
        assert running["bytes"] == job.progress.state_bytes
    assert _state(parameters) == running
    [of_job] = running["jobs"]
    [aggregate] = of_job["operators"]
    assert (of_job["job"], aggregate["operator"], aggregate["runs"]) == ("digits", "aggregate-1", "kernel")
    assert "COUNT(DISTINCT n)" in aggregate["description"]
    rows = {table["table"]: table["rows"] for table in aggregate["tables"]}
    assert rows == {"groups": 10, "distinct-0": 2000}
    assert all(table["newest_batch"] == of_job["batch"] == 0 for table in aggregate["tables"])


def _state(parameters: dict[str, str]) -> dict[str, Any]:
    arguments = [f"--param={name}={value}" for name, value in parameters.items()]
    result = CliRunner().invoke(app, ["state", "digits.sql", "--json", *arguments])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found
