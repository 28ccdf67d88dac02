"""Writes the measured part of docs/benchmarks.md, and its charts."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from benchmarks.comparison.bar_chart import Bar, Group, draw_bars
from benchmarks.comparison.figures import Run, Spread, select_newest
from benchmarks.comparison.measures import MEASURES, Measure
from benchmarks.comparison.results import DEFAULT_FILE
from benchmarks.comparison.systems import FLINKS, MILLSTREAM, SYSTEMS
from benchmarks.comparison.workloads import PYSPARK, WORKLOADS
from benchmarks.harness.processes import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PAGE: Final = Path(__file__).parents[2] / "docs" / "benchmarks.md"
BEGIN: Final = "<!-- measured: begin, written by `make bench` -->"
END: Final = "<!-- measured: end -->"
NOTHING_MEASURED: Final = "Nothing has been measured yet.\n"
_FROM_OTHERS: Final = 0.1
"""Cores that other processes may use before the page mentions it."""

_RATIOS: Final = {"Millstream : best Flink": FLINKS, "Millstream : PySpark": (PYSPARK,)}

Cells: TypeAlias = "Mapping[tuple[str, str], Spread]"


def find_page(results: Path) -> Path:
    """The page of the documentation; for another file than the default, a page beside it, which may be new."""
    if results.resolve() == DEFAULT_FILE:
        return PAGE
    page = results.with_suffix(".md")
    if not page.exists():
        page.write_text(f"# Benchmarks\n\n{BEGIN}\n{END}\n", encoding="utf-8")
    return page


def write_page(page: Path, machine: Mapping[str, str], runs: Sequence[Run]) -> None:
    """Replaces what is between the markers, and the charts in the folder named like the page."""
    text = page.read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f'{page} needs the lines "{BEGIN}" and "{END}"')
    newest = select_newest(runs)
    charts = draw_charts(newest)
    folder = page.with_suffix("")
    if charts:
        folder.mkdir(exist_ok=True)
    for name, chart in charts.items():
        (folder / f"{name}.svg").write_text(chart, encoding="utf-8")
    measured = describe(machine, newest, folder.name)
    page.write_text(f"{before}{BEGIN}\n\n{measured}\n{END}{after}", encoding="utf-8")


def draw_charts(runs: Sequence[Run]) -> dict[str, str]:
    """By name of the measure."""
    series = [system.title for system in SYSTEMS]
    charts = {}
    for measure in MEASURES:
        cells = collect(runs, measure)
        groups = [
            Group(workload.title, bars)
            for workload in WORKLOADS
            if (
                bars := [
                    Bar(place, cells[workload.name, system.name])
                    for place, system in enumerate(SYSTEMS)
                    if (workload.name, system.name) in cells
                ]
            )
        ]
        if groups and measure.has_chart:
            better = "longer" if measure.more_is_better else "shorter"
            title = f"{measure.title}, {measure.unit} ({better} is better)"
            charts[measure.name] = draw_bars(title, series, groups, measure.write)
    return charts


def describe(machine: Mapping[str, str], runs: Sequence[Run], charts: str) -> str:
    if not runs:
        return NOTHING_MEASURED
    parts = [_conditions(machine, runs)]
    for measure in MEASURES:
        if cells := collect(runs, measure):
            image = f"![{measure.title}]({charts}/{measure.name}.svg)\n\n" if measure.has_chart else ""
            explanation = f"{measure.explanation} In {measure.unit}: median, and least to greatest."
            parts.append(f"### {measure.title}\n\n{image}{explanation}\n\n{table(cells, measure)}")
    if processes := _table_of_processes(runs):
        parts.append(f"### Core-seconds by process\n\nPer million rows, median.\n\n{processes}")
    return "\n".join(parts)


def collect(runs: Iterable[Run], measure: Measure) -> Cells:
    """The spread of a measure by workload and system."""
    values: defaultdict[tuple[str, str], list[float | None]] = defaultdict(list)
    for run in runs:
        values[run.workload, run.system].append(measure.value(run))
    return {place: spread for place, found in values.items() if (spread := Spread.of(found))}


def table(cells: Cells, measure: Measure) -> str:
    shown = [system for system in SYSTEMS if any(place[1] == system.name for place in cells)]
    lines = [
        f"| workload | {' | '.join(system.title for system in shown)} | {' | '.join(_RATIOS)} |",
        f"|---|{'---:|' * (len(shown) + len(_RATIOS))}",
    ]
    for workload in WORKLOADS:
        if any(place[0] == workload.name for place in cells):
            found = [cells.get((workload.name, system.name)) for system in shown]
            reasons = ["n/a" if system.reason_against(workload) else "" for system in shown]
            written = [_cell(spread, measure) or reason for spread, reason in zip(found, reasons, strict=True)]
            written += [find_ratio(cells, measure, workload.name, others) for others in _RATIOS.values()]
            lines.append(f"| {workload.title} | {' | '.join(written)} |")
    return "\n".join(lines) + "\n"


def find_ratio(cells: Cells, measure: Measure, workload: str, others: Sequence[str]) -> str:
    """How many times the best figure of other systems Millstream's is."""
    ours = cells.get((workload, MILLSTREAM.name))
    theirs = [cells[workload, name].median for name in others if (workload, name) in cells]
    if not ours or not theirs:
        return ""
    best = max(theirs) if measure.more_is_better else min(theirs)
    return f"{ours.median / best:.2f}" if best else ""


def _cell(spread: Spread | None, measure: Measure) -> str:
    if spread is None:
        return ""
    least, greatest = measure.write(spread.least), measure.write(spread.greatest)
    middle = measure.write(spread.median)
    return middle if least == greatest else f"{middle} ({least} to {greatest})"


def _conditions(machine: Mapping[str, str], runs: Sequence[Run]) -> str:
    versions = {run.system: run.version for run in runs}
    repeats = max(run.repeat for run in runs) + 1
    lines = [
        f"Machine: {', '.join(f'{name} {value}' for name, value in machine.items())}. Up to {repeats} runs each.",
        "",
    ]
    for system in SYSTEMS:
        if system.name in versions:
            settings = ", ".join(f"`{key}` = {value}" for key, value in system.settings.items())
            lines.append(f"- {system.title} {versions[system.name]}: {settings}")
    lines += ["", "| workload | rows |", "|---|---:|"]
    rows = {run.workload: run.rows for run in runs if run.throughput}
    lines += [f"| {workload.title} | {rows[workload.name]:,} |" for workload in WORKLOADS if workload.name in rows]
    if reasons := _reasons(versions):
        lines += ["", "Not applicable:", "", *reasons]
    busy = [figures.others_cores for run in runs if (figures := run.throughput or run.latency)]
    if max(busy) > _FROM_OTHERS:
        lines += ["", f"Other processes used up to {max(busy):.2f} cores meanwhile."]
    return "\n".join(lines) + "\n"


def _reasons(versions: Mapping[str, str]) -> list[str]:
    """Why systems do not run some workloads."""
    titles: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for system in SYSTEMS:
        for workload in WORKLOADS:
            if system.name in versions and (reason := system.reason_against(workload)):
                titles[system.title, reason].append(workload.title)
    return [f"- {system}: {'; '.join(found)}. {reason}." for (system, reason), found in titles.items()]


def _table_of_processes(runs: Sequence[Run]) -> str:
    found = [run for run in runs if run.throughput]
    roles = [role for role in ROLES if any(run.throughput and role in run.throughput.core_seconds for run in found)]
    if not roles:
        return ""
    lines = [f"| workload | system | {' | '.join(roles)} |", f"|---|---|{'---:|' * len(roles)}"]
    for workload in WORKLOADS:
        for system in SYSTEMS:
            own = [run.throughput for run in found if (run.workload, run.system) == (workload.name, system.name)]
            if own:
                spreads = [Spread.of(figures.core_seconds.get(role) for figures in own if figures) for role in roles]
                written = [f"{spread.median:.2f}" if spread else "" for spread in spreads]
                lines.append(f"| {workload.title} | {system.title} | {' | '.join(written)} |")
    return "\n".join(lines) + "\n"
