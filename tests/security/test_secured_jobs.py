"""Jobs with a login and with certificates: through Spark's clients and ours, without a trace of the secrets."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from millstream import Session
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.broker_security import Listener
from millstream.testing.certificates import PASSWORD
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name, produce, read_table
from tests.secured import USERS, login, options

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

    from tests.secured import SecuredBroker

ORDERS = """
CREATE TABLE orders (customer STRING, amount BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset', 'properties.group.id' = 'shop',
  {properties});
CREATE TABLE totals (customer STRING, total BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '{topic}-totals', 'key.format' = 'json', 'value.format' = 'json',
  {properties});
INSERT INTO totals SELECT customer, SUM(amount) FROM orders GROUP BY customer;
"""
FAILS = """
SHOW CREATE TABLE orders;
EXPLAIN INSERT INTO totals SELECT customer, SUM(amount) FROM orders GROUP BY customer;
CREATE TABLE numbers WITH ('topic' = '{topic}-numbers') LIKE totals (OVERWRITING OPTIONS);
INSERT INTO numbers SELECT customer, CAST(customer AS BIGINT) FROM orders;
"""
ROWS = [{"customer": "ada", "amount": 3}, {"customer": "bob", "amount": 4}, {"customer": "ada", "amount": 5}]
TOTALS = {'{"customer":"ada"}': 8, '{"customer":"bob"}': 4}


def fill(secured_broker: SecuredBroker) -> str:
    topic = fresh_name("orders")
    produce(secured_broker.bootstrap, topic, ROWS)
    return topic


def assert_done(secured_broker: SecuredBroker, topic: str) -> None:
    """The rows are written, and the offsets committed."""
    assert {key: row["total"] for key, row in read_table(secured_broker.bootstrap, f"{topic}-totals").items()} == TOTALS
    committed = KafkaAdmin({"bootstrap.servers": secured_broker.bootstrap}).committed([topic], "shop")
    assert sum(committed.values()) == len(ROWS)


def test_job_behind_certificates(secured_broker: SecuredBroker, spark: SparkSession, tmp_path: Path) -> None:
    topic = fill(secured_broker)
    properties = secured_broker.at(
        Listener.MUTUAL_TLS, secured_broker.truststores["jks"], secured_broker.keystores["pem"]
    )
    with Session(spark, checkpoint=tmp_path) as session:
        session.execute_sql(ORDERS.format(topic=topic, properties=options(properties)))
    assert_done(secured_broker, topic)


def test_secrets_leave_no_trace(secured_broker: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that succeeds and one that fails, with everything enabled that writes output."""
    topic = fill(secured_broker)
    properties = secured_broker.at(Listener.SASL_SSL, secured_broker.truststores["jks"], login("SCRAM-SHA-512"))
    hidden = {PASSWORD: "store", USERS["ann"]: "password"}
    script = (ORDERS + FAILS).format(topic=topic, properties=options(properties))
    for secret, name in hidden.items():
        script = script.replace(secret, f"${{{name}}}")
        monkeypatch.setenv(name, secret)
    written = tmp_path / "written"
    for folder in ("events", "local", "cache"):
        (written / folder).mkdir(parents=True)
    (written / "orders.sql").write_text(script)
    monkeypatch.setenv("TMPDIR", str(written / "local"))
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(written / "events"),
        "spark.local.dir": str(written / "local"),
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
    }
    command = [
        *(sys.executable, "-m", "millstream.cli.main", "run", "orders.sql", "--verbose", "--output", "json"),
        *(f"--param={name}" for name in hidden.values()),
        *(part for key, value in settings.items() for part in ("--set", f"{key}={value}")),
    ]
    ended = subprocess.run(command, cwd=written, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert "M5006" in ended.stdout + ended.stderr, ended.stderr
    assert "caused by" in ended.stderr
    assert "'properties.sasl.jaas.config' = '******'" in ended.stdout.replace("\\\\", "")
    assert_done(secured_broker, topic)
    (written / "stdout").write_text(ended.stdout)
    (written / "stderr").write_text(ended.stderr)
    files = {str(file): file.read_bytes() for file in written.rglob("*") if file.is_file()}
    assert {name for name, content in files.items() if any(secret.encode() in content for secret in hidden)} == set()
