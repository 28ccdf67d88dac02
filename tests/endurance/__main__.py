"""`make endurance BATCHES=1000 KINDS=kernel-aggregate`: finds resources that grow from batch to batch in a long run."""

from __future__ import annotations

import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from millstream.testing.broker import EmbeddedBroker
from tests.endurance.kinds import KINDS, PARTITIONS
from tests.endurance.run import Endurance

if TYPE_CHECKING:
    from rich.progress import TaskID

    from tests.endurance.limits import Trend

_WARM_UP: Final = 100
_PARTS: Final = 4
"""Each ends with a measurement."""


def main(
    *,
    batches: Annotated[int, typer.Option(min=2 * _WARM_UP, help="How many batches each job runs.")] = 1000,
    kinds: Annotated[str, typer.Option(help=f"Separated by commas: {', '.join(KINDS)}.", show_default="all")] = "",
) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no process is left running
    names = kinds.split(",") if kinds else list(KINDS)
    if unknown := [name for name in names if name not in KINDS]:
        raise typer.BadParameter(f"{', '.join(unknown)}; there are {', '.join(KINDS)}")
    console = Console()
    grown: list[str] = []
    with EmbeddedBroker(partitions=PARTITIONS) as broker, _progress(console) as progress:
        marks = tuple(_WARM_UP + part * (batches - _WARM_UP) // _PARTS for part in range(_PARTS + 1))
        endurance = Endurance(broker.bootstrap, marks)
        for name in names:
            task = progress.add_task(name, total=batches)
            found = endurance.run(KINDS[name], partial(_show, progress, task))
            grown += [f"{name}: {trend}" for trend in found if not trend.is_flat]
            console.print(_table(name, marks, found))
    if grown:
        console.print("grew beyond its tolerance:", *grown, sep="\n  ")
        sys.exit(1)


def _show(progress: Progress, task: TaskID, batch: int) -> None:
    progress.update(task, completed=batch)


def _table(name: str, marks: tuple[int, ...], found: list[Trend]) -> Table:
    table = Table(title=name, title_justify="left", box=None)
    table.add_column("after batch")
    for mark in marks:
        table.add_column(f"{mark:,}", justify="right")
    table.add_column()
    for trend in found:
        table.add_row(trend.measure, *(f"{value:,}" for value in trend.values), "" if trend.is_flat else "grew")
    return table


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, TimeRemainingColumn(), console=console)


if __name__ == "__main__":
    typer.run(main)
