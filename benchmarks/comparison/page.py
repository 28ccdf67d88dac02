"""Writes the measured part of docs/benchmarks.md, and its charts."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, TypeAlias

from benchmarks.comparison.bar_chart import Bar, Group, draw_bars
from benchmarks.comparison.figures import Run, Spread, select_newest
from benchmarks.comparison.measures import MEASURES, Measure
from benchmarks.comparison.systems import MILLSTREAM
from benchmarks.harness.processes import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.comparison.suite import Suite

END: Final = "<!-- measured: end -->"
NOTHING_MEASURED: Final = "Nothing has been measured yet.\n"
_FROM_OTHERS: Final = 0.1
"""Cores that other processes may use before the page mentions it."""

Cells: TypeAlias = "Mapping[tuple[str, str], Spread]"


def find_page(suite: Suite, results: Path) -> Path:
    """The page of the documentation; for another file than the default, a page beside it, which may be new."""
    if results.resolve() == suite.results:
        return suite.page
    page = results.with_suffix(".md")
    if not page.exists():
        page.write_text(f"# Benchmarks\n\n{suite.begin}\n{END}\n", encoding="utf-8")
    return page


def write_page(suite: Suite, page: Path, machine: Mapping[str, str], runs: Sequence[Run]) -> None:
    """Replaces what is between the markers, and the charts in the folder named like the page."""
    text = page.read_text(encoding="utf-8")
    before, found, rest = text.partition(suite.begin)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f'{page} needs the lines "{suite.begin}" and "{END}"')
    newest = select_newest(runs)
    charts = draw_charts(suite, newest)
    folder = page.with_suffix("")
    if charts:
        folder.mkdir(exist_ok=True)
    for name, chart in charts.items():
        (folder / f"{name}.svg").write_text(chart, encoding="utf-8")
    measured = describe(suite, machine, newest, folder.name)
    page.write_text(f"{before}{suite.begin}\n\n{measured}\n{END}{after}", encoding="utf-8")


def draw_charts(suite: Suite, runs: Sequence[Run]) -> dict[str, str]:
    """By name of the measure."""
    series = [system.title for system in suite.systems]
    charts = {}
    for measure in MEASURES:
        cells = collect(runs, measure)
        groups = [
            Group(workload.title, bars)
            for workload in suite.workloads
            if (
                bars := [
                    Bar(place, cells[workload.name, system.name])
                    for place, system in enumerate(suite.systems)
                    if (workload.name, system.name) in cells
                ]
            )
        ]
        if groups and measure.has_chart:
            better = "longer" if measure.more_is_better else "shorter"
            title = f"{measure.title}, {measure.unit} ({better} is better)"
            charts[measure.name] = draw_bars(title, series, groups, measure.write)
    return charts


def describe(suite: Suite, machine: Mapping[str, str], runs: Sequence[Run], charts: str) -> str:
    if not runs:
        return NOTHING_MEASURED
    parts = [_conditions(suite, machine, runs)]
    for measure in MEASURES:
        if cells := collect(runs, measure):
            image = f"![{measure.title}]({charts}/{measure.name}.svg)\n\n" if measure.has_chart else ""
            explanation = f"{measure.explanation} In {measure.unit}: median, and least to greatest."
            parts.append(f"### {measure.title}\n\n{image}{explanation}\n\n{table(suite, cells, measure)}")
    if processes := _table_of_processes(suite, runs):
        parts.append(f"### Core-seconds by process\n\nPer million rows, median.\n\n{processes}")
    return "\n".join(parts)


def collect(runs: Iterable[Run], measure: Measure) -> Cells:
    """The spread of a measure by workload and system."""
    values: defaultdict[tuple[str, str], list[float | None]] = defaultdict(list)
    for run in runs:
        values[run.workload, run.system].append(measure.value(run))
    return {place: spread for place, found in values.items() if (spread := Spread.of(found))}


def table(suite: Suite, cells: Cells, measure: Measure) -> str:
    shown = [system for system in suite.systems if any(place[1] == system.name for place in cells)]
    lines = [
        f"| workload | {' | '.join(system.title for system in shown)} | {' | '.join(suite.ratios)} |",
        f"|---|{'---:|' * (len(shown) + len(suite.ratios))}",
    ]
    for workload in suite.workloads:
        if any(place[0] == workload.name for place in cells):
            found = [cells.get((workload.name, system.name)) for system in shown]
            reasons = ["n/a" if system.reason_against(workload) else "" for system in shown]
            written = [_cell(spread, measure) or reason for spread, reason in zip(found, reasons, strict=True)]
            written += [
                _format_ratio(find_ratio(cells, measure, workload.name, others)) for others in suite.ratios.values()
            ]
            lines.append(f"| {workload.title} | {' | '.join(written)} |")
    if suite.shows_medians:
        ratios = [
            [find_ratio(cells, measure, workload.name, others) for workload in suite.workloads]
            for others in suite.ratios.values()
        ]
        medians = [_format_ratio(spread.median if (spread := Spread.of(column)) else None) for column in ratios]
        lines.append(f"| median | {' | '.join([''] * len(shown) + medians)} |")
    return "\n".join(lines) + "\n"


def find_ratio(cells: Cells, measure: Measure, workload: str, others: Sequence[str]) -> float | None:
    """How many times the best figure of other systems Millstream's is."""
    ours = cells.get((workload, MILLSTREAM.name))
    theirs = [cells[workload, name].median for name in others if (workload, name) in cells]
    if not ours or not theirs:
        return None
    best = max(theirs) if measure.more_is_better else min(theirs)
    return ours.median / best if best else None


def _format_ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _cell(spread: Spread | None, measure: Measure) -> str:
    if spread is None:
        return ""
    least, greatest = measure.write(spread.least), measure.write(spread.greatest)
    middle = measure.write(spread.median)
    return middle if least == greatest else f"{middle} ({least} to {greatest})"


def _conditions(suite: Suite, machine: Mapping[str, str], runs: Sequence[Run]) -> str:
    versions = {run.system: run.version for run in runs}
    repeats = max(run.repeat for run in runs) + 1
    lines = [
        f"Machine: {', '.join(f'{name} {value}' for name, value in machine.items())}. Up to {repeats} runs each.",
        "",
    ]
    for system in suite.systems:
        if system.name in versions:
            settings = ", ".join(f"`{key}` = {value}" for key, value in system.settings.items())
            lines.append(f"- {system.title} {versions[system.name]}: {settings}")
    lines += ["", "| workload | rows |", "|---|---:|"]
    rows = {run.workload: run.rows for run in runs if run.throughput}
    lines += [
        f"| {workload.title} | {rows[workload.name]:,} |" for workload in suite.workloads if workload.name in rows
    ]
    if reasons := _reasons(suite, versions):
        lines += ["", "Not applicable:", "", *reasons]
    busy = [figures.others_cores for run in runs if (figures := run.throughput or run.latency)]
    if max(busy) > _FROM_OTHERS:
        lines += ["", f"Other processes used up to {max(busy):.2f} cores meanwhile."]
    return "\n".join(lines) + "\n"


def _reasons(suite: Suite, versions: Mapping[str, str]) -> list[str]:
    """Why systems do not run some workloads."""
    titles: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for system in suite.systems:
        for workload in suite.workloads:
            if system.name in versions and (reason := system.reason_against(workload)):
                titles[system.title, reason].append(workload.title)
    return [f"- {system}: {'; '.join(found)}. {reason}." for (system, reason), found in titles.items()]


def _table_of_processes(suite: Suite, runs: Sequence[Run]) -> str:
    found = [run for run in runs if run.throughput]
    roles = [role for role in ROLES if any(run.throughput and role in run.throughput.core_seconds for run in found)]
    if not roles:
        return ""
    lines = [f"| workload | system | {' | '.join(roles)} |", f"|---|---|{'---:|' * len(roles)}"]
    for workload in suite.workloads:
        for system in suite.systems:
            own = [run.throughput for run in found if (run.workload, run.system) == (workload.name, system.name)]
            if own:
                spreads = [Spread.of(figures.core_seconds.get(role) for figures in own if figures) for role in roles]
                written = [f"{spread.median:.2f}" if spread else "" for spread in spreads]
                lines.append(f"| {workload.title} | {system.title} | {' | '.join(written)} |")
    return "\n".join(lines) + "\n"
