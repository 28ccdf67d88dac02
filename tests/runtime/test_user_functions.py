"""Python functions, computed by Spark's workers on Arrow data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from millstream.catalog.functions import load_function
from millstream.source import SourceText
from millstream.spark.expressions import column_of
from tests.unit.plan.expressions import read, scope

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

MODULE = """
import datetime as dt
import pyarrow.compute as pc
import millstream
from nearby_code import SUFFIX

def shout(a: str | None) -> str | None:
    return None if a is None else a.upper() + SUFFIX

@millstream.udf(arguments=["BIGINT", "BIGINT"], result="BIGINT")
def total(a, b):
    return pc.add(a, b)

def at_noon(t: dt.time | None) -> dt.time | None:
    return None if t is None else t.replace(hour=12)

@millstream.udf(arguments=["TIME"], result="BIGINT")
def hours(times):
    return pc.hour(times)
"""


def test_functions_run_on_rows(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark_user_code.py").write_text(MODULE)
    (tmp_path / "nearby_code.py").write_text("SUFFIX = '!'")
    for name in ("spark_user_code", "nearby_code"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    span = SourceText("s", "x").span(0, 1)
    names = ("shout", "total", "at_noon", "hours")
    functions = {name.upper(): load_function(name, f"spark_user_code:{name}", span, [tmp_path]) for name in names}
    columns = {"s": "STRING", "a": "BIGINT", "i": "INT", "t": "TIME"}
    values = [("a", 1, 10, 25_689_120), (None, 2, None, None)]
    rows = spark.createDataFrame(values, "s STRING, a BIGINT, i INT, t INT")
    texts = ("Shout(s) || '?'", "total(a, i) + 1", "CAST(at_noon(t) AS STRING)", "hours(t)")
    resolved = [scope(text, columns, functions).resolve(read(text)) for text in texts]
    found = rows.select(*(column_of(expression, spark) for expression in resolved)).collect()
    assert sorted(map(tuple, found), key=str) == [("A!?", 12, "12:08:09", 7), (None, None, None, None)]
