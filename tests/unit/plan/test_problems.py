"""What `check` reports of a wrong script: everything at once, nothing twice, and never nothing."""

from __future__ import annotations

import pytest

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.program import compile_script
from millstream.source import SourceText

TABLES = """
CREATE TABLE p (a INT, b STRING, t TIMESTAMP(3)) WITH ('connector' = 'datagen');
CREATE TABLE s (a INT, b STRING) WITH ('connector' = 'print');
"""


def problems(script: str) -> list[Diagnostic]:
    try:
        compile_script(SourceText("s.sql", f"{TABLES}{script}"), {}, {})
    except ScriptError as error:
        return list(error.diagnostics)
    return []


def marked(diagnostic: Diagnostic) -> str:
    assert diagnostic.span is not None
    return diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end]


def test_a_view_on_itself_is_a_view_on_nothing() -> None:
    [found] = problems("CREATE VIEW v5 AS SELECT * FROM v5; SELECT * FROM v5;")
    assert (found.code, marked(found)) == (Code.UNDEFINED_TABLE, "v5")


def test_views_in_a_circle_are_told_where_the_first_went() -> None:
    [found] = problems(
        "CREATE VIEW v1 AS SELECT a FROM p;\nCREATE VIEW v2 AS SELECT a FROM v1;\n"
        "DROP VIEW v1;\nCREATE VIEW v1 AS SELECT a FROM v2;\nSELECT * FROM v1;"
    )
    assert found.code is Code.UNDEFINED_TABLE
    assert "dropped at s.sql:6" in (found.detail or "")
