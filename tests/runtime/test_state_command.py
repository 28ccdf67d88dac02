"""The size of a real job's state: as `millstream state` shows it, and as a setting bounds it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from millstream import Session
from millstream.cli.main import app
from millstream.errors import Code, JobError
from millstream.runtime.kafka.admin import KafkaAdmin
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def parameters(broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits.sql").write_text(SCRIPT)
    topics = {"numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    for topic in topics.values():
        KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(topic, topic)
    produce(broker, topics["numbers"], numbers(range(2000)))
    return {"brokers": broker, **topics}


def test_sizes_of_a_running_and_of_a_stopped_job(
    spark: SparkSession, tmp_path: Path, parameters: dict[str, str]
) -> None:
    with Session(spark, checkpoint=tmp_path / ".millstream" / "digits") as session:
        [job] = session.execute_sql(SCRIPT, parameters=parameters)
        job.await_caught_up(PATIENCE)
        running = _state(parameters)
        assert job.progress is not None
        assert running["bytes"] == job.progress.state_bytes
        assert {
            operator["operator"]: {
                table["table"]: {key: table[key] for key in ("rows", "bytes")} for table in operator["tables"]
            }
            for operator in running["jobs"][0]["operators"]
        } == {operator: size["tables"] for operator, size in job.progress.as_json()["state"].items()}
    assert _state(parameters) == running
    [of_job] = running["jobs"]
    [aggregate] = of_job["operators"]
    assert (of_job["job"], aggregate["operator"], aggregate["runs"]) == ("digits", "aggregate-1", "kernel")
    assert "COUNT(DISTINCT n)" in aggregate["description"]
    rows = {table["table"]: table["rows"] for table in aggregate["tables"]}
    assert sorted(rows.values()) == [10, 2000]
    assert rows["groups"] == 10
    assert all(table["newest_batch"] == of_job["batch"] == 0 for table in aggregate["tables"])


def test_job_whose_state_has_grown_too_large_ends(
    broker: str, spark: SparkSession, tmp_path: Path, parameters: dict[str, str]
) -> None:
    with Session(spark, checkpoint=tmp_path / "c", millstream_state_max_size="1 kb") as session:
        [job] = session.execute_sql(SCRIPT, parameters=parameters)
        with pytest.raises(JobError, match="in aggregate-1, Aggregate") as caught:
            job.await_end(PATIENCE)
        assert caught.value.code is Code.STATE_TOO_LARGE
    assert read_table(broker, parameters["digits"]) == truth(numbers(range(2000)))
    with Session(spark, checkpoint=tmp_path / "c", millstream_state_max_size="1 kb") as session:
        with pytest.raises(JobError) as caught:
            session.execute_sql(SCRIPT, parameters=parameters)
        assert caught.value.code is Code.STATE_TOO_LARGE
    produce(broker, parameters["numbers"], numbers([7]))
    with Session(spark, checkpoint=tmp_path / "c", millstream_state_max_size="1 gb") as session:
        session.execute_sql(SCRIPT, parameters=parameters)[0].await_caught_up(PATIENCE)
    assert read_table(broker, parameters["digits"]) == truth(numbers([*range(2000), 7]))


def _state(parameters: dict[str, str]) -> dict[str, Any]:
    arguments = [f"--param={name}={value}" for name, value in parameters.items()]
    result = CliRunner().invoke(app, ["state", "digits.sql", "--json", *arguments])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found
