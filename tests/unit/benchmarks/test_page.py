"""Statistics, tables, charts and the page are made from the runs of a results file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from benchmarks.comparison.bar_chart import Bar, Group, draw_bars
from benchmarks.comparison.figures import LatencyFigures, Run, Spread, ThroughputFigures, select_newest
from benchmarks.comparison.measures import MEASURES
from benchmarks.comparison.page import (
    END,
    NOTHING_MEASURED,
    collect,
    find_page,
    find_ratio,
    table,
    write_page,
)
from benchmarks.comparison.results import Results, ResultsError, read_results
from benchmarks.comparison.suite import COMPARISON
from benchmarks.comparison.systems import FLINKS
from benchmarks.comparison.workloads import PYSPARK

if TYPE_CHECKING:
    from pathlib import Path

STEADY, COLD, *_ = MEASURES
BEGIN = COMPARISON.begin
MACHINE = {"processor": "one", "cores": "2"}


def run(system: str, rate: float, repeat: int = 0, version: str = "1", cold: float = 20.0) -> Run:
    cores = {"JVM": 2.0, "broker": 0.5}
    figures = ThroughputFigures(cold, rate, 16, cores, 500_000_000, 9, 1_000_000, 2_000_000, 0.0)
    return Run("sum_9", system, version, 1000, repeat, throughput=figures)


def latency(system: str) -> Run:
    return Run("sum_9", system, "1", 0, 0, latency=LatencyFigures(1000, 120.0, 300.0, 0.5, 0.4))


def test_spread_is_median_least_and_greatest() -> None:
    assert Spread.of([3.0, None, 1.0, 10.0]) == Spread(3.0, 1.0, 10.0, 3)
    assert Spread.of([None]) is None


def test_runs_of_the_newest_version_count() -> None:
    runs = [run("millstream", 1.0, 0, "1"), run("millstream", 2.0, 0, "2"), run("millstream", 3.0, 1, "2")]
    assert select_newest([*runs, latency("millstream")]) == [*runs[1:], latency("millstream")]


@pytest.mark.parametrize("made", [run("millstream", 5.0), latency("millstream")], ids=["throughput", "latency"])
def test_run_is_the_same_after_json(made: Run) -> None:
    assert Run.of_json(json.loads(json.dumps(made.to_json()))) == made


def test_results_are_kept_and_continued(tmp_path: Path) -> None:
    file = tmp_path / "results" / "comparison.json"
    Results(file, MACHINE).add(run("millstream", 5.0))
    continued = Results(file, MACHINE)
    assert continued.holds(run("millstream", 99.0))
    assert not continued.holds(run("millstream", 5.0, repeat=1))
    assert not continued.holds(run("millstream", 5.0, version="2"))
    continued.add(run("millstream", 6.0, repeat=1))
    assert read_results(file) == (MACHINE, continued.runs)


def test_results_of_another_machine_are_not_continued(tmp_path: Path) -> None:
    file = tmp_path / "comparison.json"
    Results(file, MACHINE).add(run("millstream", 5.0))
    with pytest.raises(ResultsError, match="another machine"):
        Results(file, {**MACHINE, "cores": "4"})


def test_ratio_is_to_the_better_flink() -> None:
    runs = [run("millstream", 600.0, cold=30), run("flink-hashmap", 400.0, cold=20), run("flink-rocksdb", 200.0)]
    assert find_ratio(collect(runs, STEADY), STEADY, "sum_9", FLINKS) == pytest.approx(1.5)
    assert find_ratio(collect(runs, COLD), COLD, "sum_9", FLINKS) == pytest.approx(1.5)
    assert find_ratio(collect(runs, STEADY), STEADY, "sum_9", (PYSPARK,)) is None


def test_table_has_medians_with_their_spread() -> None:
    runs = [run("millstream", rate, place) for place, rate in enumerate((400_000, 500_000, 700_000))]
    runs += [run("flink-hashmap", 250_000), run("pyspark", 100_000)]
    assert table(COMPARISON, collect(runs, STEADY), STEADY).splitlines() == [
        "| workload | Millstream | Flink, heap | PySpark, by hand | Millstream : best Flink | Millstream : PySpark |",
        "|---|---:|---:|---:|---:|---:|",
        "| COUNT and SUM per 9 keys | 500 k (400 k to 700 k) | 250 k | 100 k | 2.00 | 5.00 |",
    ]


def test_last_row_of_a_table_may_have_the_median_of_the_ratios() -> None:
    suite = replace(COMPARISON, shows_medians=True)
    runs = [replace(run("millstream", rate), workload=name) for name, rate in (("sum_9", 6e5), ("nested", 4e5))]
    runs += [replace(run("flink-hashmap", 2e5), workload=name) for name in ("sum_9", "nested")]
    assert table(suite, collect(runs, STEADY), STEADY).splitlines()[-1] == "| median |  |  | 2.50 |  |"


def test_page_is_replaced_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(f"before\n{BEGIN}\nolder runs\n{END}\nafter\n", encoding="utf-8")
    write_page(COMPARISON, page, MACHINE, [run("millstream", 5e5), latency("millstream")])
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}")
    assert text.endswith(f"{END}\nafter\n")
    assert "older runs" not in text
    assert "cores 2" in text
    assert "Other processes used up to 0.40 cores" in text
    assert "| COUNT and SUM per 9 keys | Millstream | 2.00 | 0.50 |" in text
    for chart in (tmp_path / "benchmarks").iterdir():
        ET.parse(chart)
        assert f"benchmarks/{chart.name}" in text


def test_page_without_runs_says_so(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(f"{BEGIN}{END}\n", encoding="utf-8")
    write_page(COMPARISON, page, {}, [])
    assert page.read_text(encoding="utf-8") == f"{BEGIN}\n\n{NOTHING_MEASURED}\n{END}\n"
    assert not (tmp_path / "benchmarks").exists()


def test_page_of_other_results_is_beside_them(tmp_path: Path) -> None:
    page = find_page(COMPARISON, tmp_path / "quick.json")
    assert page == tmp_path / "quick.md"
    write_page(COMPARISON, page, {}, [])
    assert NOTHING_MEASURED in find_page(COMPARISON, tmp_path / "quick.json").read_text(encoding="utf-8")
    assert find_page(COMPARISON, COMPARISON.results) == COMPARISON.page


def test_page_needs_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text("text", encoding="utf-8")
    with pytest.raises(ValueError, match="needs the lines"):
        write_page(COMPARISON, page, {}, [])


def test_bars_are_as_long_as_their_medians() -> None:
    bars = [Bar(0, Spread(50.0, 40.0, 60.0, 3)), Bar(1, Spread(100.0, 100.0, 120.0, 3))]
    chart = draw_bars("a < b", ["one", "two"], [Group("x & y", bars)], str)
    root = ET.fromstring(chart)
    names = {"svg": "http://www.w3.org/2000/svg"}
    widths = [float(bar.get("width", "")) for bar in root.findall("svg:rect", names) if bar.get("height") == "14"]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    texts = [text.text for text in root.findall("svg:text", names)]
    assert texts == ["a < b", "one", "two", "x & y", "50.0", "100.0"]
    assert "prefers-color-scheme: dark" in chart
