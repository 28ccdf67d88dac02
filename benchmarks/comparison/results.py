"""The file of results: every finished run, so that a stopped comparison continues where it was."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Final

from benchmarks.comparison.figures import Run

_SIGNIFICANT: Final = 5


class ResultsError(Exception):
    """The file cannot be continued."""


class Results:
    """Runs in the order in which they were made, each saved as soon as it is added."""

    def __init__(self, file: Path, machine: dict[str, str]) -> None:
        self._file = file
        self.machine = machine
        self.runs: list[Run] = []
        if not file.exists():
            return
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["machine"] != machine:
            raise ResultsError(
                f"{file} has the results of another machine: {content['machine']}. "
                "Start anew with FRESH=1, or keep them in another file with RESULTS=FILE."
            )
        self.runs = [Run.of_json(entry) for entry in content["runs"]]

    @property
    def folder(self) -> Path:
        return self._file.parent

    def holds(self, run: Run) -> bool:
        return any(run.identity == other.identity for other in self.runs)

    def add(self, run: Run) -> None:
        self.runs.append(run)
        lines = ",\n".join(f"  {json.dumps(_shorten(entry.to_json()))}" for entry in self.runs)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._file.with_suffix(".new")
        unfinished.write_text(f'{{"machine": {json.dumps(self.machine)}, "runs": [\n{lines}\n]}}\n', encoding="utf-8")
        unfinished.rename(self._file)


def read_results(file: Path) -> tuple[dict[str, str], list[Run]]:
    """The machine and the runs of a file; nothing if there is none."""
    if not file.exists():
        return {}, []
    content = json.loads(file.read_text(encoding="utf-8"))
    return content["machine"], [Run.of_json(entry) for entry in content["runs"]]


def describe_machine() -> dict[str, str]:
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.machine(),
    )
    kilobytes = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {
        "processor": model,
        "cores": str(os.cpu_count()),
        "memory": f"{kilobytes / (1 << 20):.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
    }


def _lines(file: str) -> list[str]:
    path = Path(file)
    return path.read_text().splitlines() if path.exists() else []


def _shorten(value: object) -> object:
    """Figures with as many digits as they are worth."""
    match value:
        case float():
            return float(f"{value:.{_SIGNIFICANT}g}")
        case dict():
            return {key: _shorten(inner) for key, inner in value.items()}
        case _:
            return value
