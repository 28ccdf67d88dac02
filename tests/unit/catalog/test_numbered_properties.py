"""`connector.properties.0.key` and `.0.value`, which give Kafka's properties in pairs."""

from __future__ import annotations

import pytest

from millstream.connectors.kafka.tables import KafkaSink
from millstream.errors import Code, ScriptError
from millstream.plan.program import Text, compile_script
from millstream.source import SourceText

OPTIONS = """'connector.type' = 'kafka', 'connector.topic' = 't', 'format.type' = 'json',
  'connector.properties.0.key' = 'bootstrap.servers', 'connector.properties.0.value' = 'x:9092',
  'connector.properties.1.key' = 'ssl.key.password', 'connector.properties.1.value' = 'tiger'"""


def test_pairs_are_properties() -> None:
    script = f"CREATE TABLE t (a INT) WITH ({OPTIONS}); INSERT INTO t SELECT 1;"
    [table] = compile_script(SourceText("s", script), {}, {}).jobs[0].tables
    assert isinstance(table, KafkaSink)
    assert (table.properties["bootstrap.servers"], table.properties["ssl.key.password"]) == ("x:9092", "tiger")


def test_half_a_pair() -> None:
    options = OPTIONS.replace("'connector.properties.0.key' = 'bootstrap.servers', ", "")
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText("s", f"CREATE TABLE t (a INT) WITH ({options})"), {}, {})
    [problem] = caught.value.diagnostics
    assert problem.code is Code.MISSING_OPTION
    assert "'connector.properties.0.key'" in problem.primary


def test_secrets_stay_hidden() -> None:
    script = f"CREATE TABLE t (a INT) WITH ({OPTIONS}, 'wrong' = 'x'); SHOW CREATE TABLE t;"
    [shown] = compile_script(SourceText("s", script), {}, {}).steps
    assert isinstance(shown, Text)
    assert "bootstrap.servers" in shown.text
    assert "tiger" not in shown.text
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText("s", script.replace("SHOW CREATE TABLE", "SELECT * FROM")), {}, {})
    assert "'wrong'" in str(caught.value)
    assert "tiger" not in str(caught.value)
