"""Workloads that are whole scripts: what they write is read from their `CREATE TABLE results`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from benchmarks.comparison.workload import Sink, Workload
from millstream.catalog.catalog import Catalog
from millstream.errors import MillstreamError
from millstream.plan.program import compile_script
from millstream.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import polars as pl

    from benchmarks.harness.dataset import Dataset

_MILLSTREAM: Final = "millstream"
_PARAMETERS: Final = {"brokers": "localhost:9092", "input": "input", "results": "results", "folder": "."}
_SINK: Final = re.compile(r"CREATE TABLE results\b.*?;\n", re.DOTALL)


def make_script_workload(
    name: str,
    title: str,
    dataset: Dataset,
    *,
    rows: int,
    text: str,
    progress: pl.Expr,
    flink_text: str = "",
    write_files: Callable[[Path], None] | None = None,
    has_state: bool = True,
    cannot: Mapping[str, str] | None = None,
) -> Workload:
    reason = why_refused(text)
    refused = {_MILLSTREAM: reason} if reason else {}
    return Workload(
        name,
        title,
        dataset,
        rows,
        find_sink(text),
        query="",
        truth=None,
        progress=progress,
        text=text,
        flink_text=flink_text,
        write_files=write_files,
        has_state=has_state,
        cannot={**refused, **(cannot or {})},
    )


def read_title(query: str) -> str:
    """What stands before the colon in the first line, a comment."""
    return query.partition("\n")[0].removeprefix("-- ").partition(":")[0].lower()


def why_refused(text: str) -> str | None:
    """What Millstream says first about a script that it does not take."""
    try:
        _compile(text)
    except MillstreamError as error:
        first = error.diagnostics[0]
        return f"[{first.code}] {first.primary}"
    return None


def find_sink(text: str) -> Sink:
    statement = _SINK.search(text)
    assert statement
    catalog = _compile(statement.group())
    [table] = catalog.tables
    columns = tuple((column.name, str(column.type).removesuffix(" NOT NULL")) for column in table.physical_columns)
    return Sink(columns, tuple(table.primary_key or ()))


def _compile(text: str) -> Catalog:
    catalog = Catalog()
    compile_script(SourceText("script", text), _PARAMETERS, {}, catalog)
    return catalog
