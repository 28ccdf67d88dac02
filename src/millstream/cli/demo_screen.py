"""The output of the demo: a live table in a terminal, lines in a pipe."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from millstream.cli.notice_line import NoticeLine
from millstream.cli.numbers import count
from millstream.cli.views import PlainView, progress_table
from millstream.notices import Passing

if TYPE_CHECKING:
    from rich.console import RenderableType

    from millstream.demo.feed import PageViewFeed
    from millstream.demo.regions import RegionTable
    from millstream.runtime.progress import JobProgress

_BAR_WIDTH: Final = 40


class DemoScreen:
    def __init__(self, rows: int, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._rows = rows
        self._feed: PageViewFeed | None = None
        self._table: RegionTable | None = None
        self._latest: JobProgress | None = None
        self._plain = None if self._console.is_terminal else PlainView()
        self._live = Live(console=self._console, get_renderable=self._draw, refresh_per_second=8)
        self._passing = NoticeLine(sys.stdout)
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        if isinstance(text, Passing):
            self._passing(text)
            return
        self._passing.close()
        seconds = time.monotonic() - self._begun
        line = Text.assemble((f"{seconds:5.1f} s  ", "dim"), text)
        self._console.print(line, soft_wrap=self._plain is not None)

    def progress(self, progress: JobProgress) -> None:
        self._latest = progress
        if self._plain is not None:
            self._plain.progress(progress)

    def watch(self, feed: PageViewFeed, table: RegionTable) -> None:
        self._feed, self._table = feed, table
        if self._plain is None:
            self._live.start()

    def finish(self) -> None:
        """Leaves the last picture on the screen."""
        if self._plain is None:
            self._live.refresh()
            self._live.stop()
        else:
            self._console.print(self._region_table())

    def conclude(self, text: str, *, good: bool) -> None:
        style = "bold green" if good else "bold red"
        self._console.print(text, style=style, soft_wrap=self._plain is not None)
        sys.stdout.flush()

    def _draw(self) -> RenderableType:
        produced = self._feed.produced if self._feed else 0
        head = Text(f"\n{count(produced)} of {count(self._rows)} page views produced\n", style="bold")
        jobs = progress_table([self._latest] if self._latest else [])
        return Group(head, self._region_table(), Text(), jobs)

    def _region_table(self) -> Table:
        drawn = Table(box=None, pad_edge=False, header_style="bold")
        drawn.add_column("region")
        drawn.add_column("page views", justify="right", min_width=10)
        drawn.add_column("users", justify="right", min_width=8)
        drawn.add_column()
        rows = dict(sorted(self._table.rows.items())) if self._table else {}
        most = max((counts.views for counts in rows.values()), default=1)
        for region, counts in rows.items():
            bar = "█" * max(1, round(_BAR_WIDTH * counts.views / most))
            drawn.add_row(region, count(counts.views), count(counts.users), Text(bar, style="cyan"))
        return drawn
