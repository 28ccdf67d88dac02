"""What each operator keeps: always in JSON, for people as far as there is room for it."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

from rich.console import Console

from millstream.cli.views import JsonView, PlainView, progress_table
from millstream.plan.program import compile_script
from millstream.runtime.progress import Counted, JobProgress, progress_of
from millstream.runtime.state_quota import measure_operators
from millstream.source import SourceText
from millstream.state.job_state import OperatorSize, TableSize
from tests.manifests import write_manifest

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCRIPT = """
CREATE TABLE orders (customer INT, amount INT) WITH ('connector' = 'datagen', 'number-of-rows' = '9');
CREATE TABLE names (id INT, name STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '9');
CREATE TABLE totals (name STRING, total INT) WITH ('connector' = 'print');
INSERT INTO totals SELECT name, total
FROM names LEFT JOIN (SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer) ON id = customer;
"""


def table_of(operator: str, name: str, rows: int, size: int) -> TableSize:
    return TableSize(operator, name, rows, size, segments=1, pieces=1, buckets=1, batch=1)


def operator_of(name: str, **tables: tuple[int, int]) -> OperatorSize:
    return OperatorSize(name, tuple(table_of(name, table, *size) for table, size in tables.items()))


STATE = (
    operator_of("aggregate-1", groups=(9, 900), **{"multiset-0": (1, 100)}),
    operator_of("join-1", left=(2000, 50_000), left_keys=(1000, 10_000), right=(5, 400)),
    operator_of("rank-1"),
)


def progress(*state: OperatorSize) -> JobProgress:
    report = {"batchId": 1, "numInputRows": 10, "sink": {}, "durationMs": {"triggerExecution": 100}, "sources": []}
    return progress_of("totals", report, None, Counted(state))


def render_progress(job: JobProgress, lines: int | None = None) -> list[str]:
    console = Console(file=io.StringIO(), width=160)
    console.print(progress_table([job], most_lines=lines))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_json_has_every_table_of_every_operator(capsys: pytest.CaptureFixture[str]) -> None:
    with JsonView() as view:
        view.progress(progress(*STATE))
    reported = json.loads(capsys.readouterr().out)
    assert reported["state_bytes"] == 61_400
    assert reported["state"] == {
        "aggregate-1": {
            "rows": 10,
            "bytes": 1000,
            "tables": {"groups": {"rows": 9, "bytes": 900}, "multiset-0": {"rows": 1, "bytes": 100}},
        },
        "join-1": {
            "rows": 3005,
            "bytes": 60_400,
            "tables": {
                "left": {"rows": 2000, "bytes": 50_000},
                "left_keys": {"rows": 1000, "bytes": 10_000},
                "right": {"rows": 5, "bytes": 400},
            },
        },
        "rank-1": {"rows": 0, "bytes": 0, "tables": {}},
    }


def test_line_names_the_largest_parts_first(capsys: pytest.CaptureFixture[str]) -> None:
    more = [operator_of(f"rank-{number}", rows=(number, number)) for number in range(2, 6)]
    with PlainView() as view:
        view.progress(progress(*STATE))
    with PlainView() as view:
        view.progress(progress(*STATE, *more))
    few, many = capsys.readouterr().out.strip().splitlines()
    parts = "join-1 left 3,000 rows 60.0 kB, aggregate-1 10 rows 1.0 kB, join-1 right 5 rows 400 B"
    assert few.endswith(f", state 61.4 kB ({parts})")
    assert many.endswith(f", state 61.4 kB ({parts}, rank-5 5 rows 5 B, rank-4 4 rows 4 B, 2 smaller)")


def test_line_of_a_job_without_state_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainView() as view:
        view.progress(progress())
    assert "state" not in capsys.readouterr().out


def test_terminal_shows_parts_below_their_job_if_all_fit() -> None:
    job = progress(*STATE)
    assert [re.sub(" {2,}", " ", line).strip() for line in render_progress(job, lines=5)[2:]] == [
        "aggregate-1, 10 rows 1.0 kB",
        "join-1 left, 3,000 rows 60.0 kB",
        "join-1 right, 5 rows 400 B",
    ]
    assert len(render_progress(job, lines=4)) == 2


def test_operators_are_in_the_order_in_which_rows_reach_them(tmp_path: Path) -> None:
    [job] = compile_script(SourceText("totals.sql", SCRIPT), {}, {}).jobs
    write_manifest(tmp_path / "join-1" / "0", 3, {"left": [(40, 4000)], "right": [(2, 100), (1, 50)]})
    write_manifest(tmp_path / "join-1" / "1", 2, {"left": [(4, 400)]})
    aggregate, join = measure_operators(job, tmp_path)
    assert aggregate == OperatorSize("aggregate-1")
    assert join.operator == "join-1"
    assert {side: (size.rows, size.bytes) for side, size in join.sides.items()} == {
        "left": (44, 4400),
        "right": (3, 150),
    }


def test_state_that_the_script_no_longer_has_is_counted(tmp_path: Path) -> None:
    [job] = compile_script(SourceText("totals.sql", SCRIPT), {}, {}).jobs
    write_manifest(tmp_path / "rank-7" / "0", 3, {"rows": [(40, 4000)]})
    assert [(size.operator, size.bytes) for size in measure_operators(job, tmp_path)][-1] == ("rank-7", 4000)
