"""Three ways to show progress: live in a terminal, as lines, or as JSON."""

from __future__ import annotations

import json
import sys
import time
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol, Self

from millstream.cli.notice_line import NoticeLine
from millstream.cli.numbers import count, duration, size
from millstream.cli.state_parts import state_parts
from millstream.notices import Passing

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rich.console import Console, Group
    from rich.table import Table

    from millstream.plan.program import Listing, Text
    from millstream.runtime.events import JobEvent
    from millstream.runtime.progress import JobProgress

_SECONDS_BETWEEN_LINES: Final = 3.0
_RARELY: Final = (
    ("skipped", attrgetter("skipped")),
    ("dead letters", attrgetter("dead_letters")),
    ("ignored", attrgetter("total_ignored_retractions")),
    ("late", attrgetter("total_late_rows")),
)
"""Columns that are shown only once they have a value."""
_NAMED: Final = 5
"""Parts of the state in a line."""
_WAITING: Final = "waiting for the first batch"


class View(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def notice(self) -> Callable[[str], None]:
        """Shows a notice, or a `Passing` step of a long operation."""

    def progress(self, progress: JobProgress) -> None:
        """A batch has been committed."""

    def event(self, event: JobEvent) -> None:
        """A job waits, continues, or has lost messages."""

    def answer(self, answer: Listing | Text) -> None:
        """The result of SHOW, DESCRIBE or EXPLAIN."""

    def rows(self, rows: list[str]) -> None:
        """Rows of a SELECT or of a print table, as text."""

    def tick(self) -> None:
        """Called a few times a second, for updates between batches."""


def view_for(output: str) -> View:
    if output == "json":
        return JsonView()
    if output == "plain" or not sys.stdout.isatty():
        return PlainView()
    return TerminalView()


class JsonView:
    """One object per batch on stdout, everything else on stderr."""

    def __init__(self) -> None:
        self.notice = NoticeLine(sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.notice.close()

    def progress(self, progress: JobProgress) -> None:
        print(json.dumps(progress.as_json()), flush=True)

    def event(self, event: JobEvent) -> None:
        print(json.dumps(event.as_json()), flush=True)

    def answer(self, answer: Listing | Text) -> None:
        print(json.dumps(answer.as_json(), ensure_ascii=False), flush=True)

    def rows(self, rows: list[str]) -> None:
        for row in rows:
            print(json.dumps({"printed": row}, ensure_ascii=False), flush=True)

    def data(self, rows: list[str]) -> None:
        """Rows of a SELECT, each of them already an object."""
        print("\n".join(rows), flush=True)

    def tick(self) -> None:
        pass


class PlainView:
    """A line every few seconds per job, and the last batch of each at the end."""

    def __init__(self) -> None:
        self.notice = NoticeLine(sys.stdout)
        self._shown: dict[str, float] = {}
        self._unshown: dict[str, JobProgress] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._show(list(self._unshown))

    def progress(self, progress: JobProgress) -> None:
        self._unshown[progress.job] = progress
        self.tick()

    def event(self, event: JobEvent) -> None:
        self.notice(event.text)

    def answer(self, answer: Listing | Text) -> None:
        print(answer.render(), flush=True)

    def rows(self, rows: list[str]) -> None:
        print("\n".join(rows), flush=True)

    def tick(self) -> None:
        due = time.monotonic() - _SECONDS_BETWEEN_LINES
        self._show([job for job in list(self._unshown) if self._shown.get(job, due) <= due])

    def _show(self, jobs: list[str]) -> None:
        for job in jobs:
            progress = self._unshown.pop(job, None)
            if progress is not None:  # ticks and batches come from two threads
                self._shown[job] = time.monotonic()
                self.notice(_line(progress))


class TerminalView:
    """One live panel per job, redrawn in place."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._latest: dict[str, JobProgress] = {}
        self._doing: str = _WAITING
        self._console = console or Console()
        self._live = Live(
            console=self._console, get_renderable=self._table, refresh_per_second=4, redirect_stderr=False
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def notice(self, text: str) -> None:
        self._doing = text if isinstance(text, Passing) else _WAITING
        if not isinstance(text, Passing):
            self._console.print(text, style="dim", highlight=False, markup=False)

    def progress(self, progress: JobProgress) -> None:
        self._latest[progress.job] = progress

    def event(self, event: JobEvent) -> None:
        self.notice(event.text)

    def answer(self, answer: Listing | Text) -> None:
        self._console.print(answer.render(), highlight=False, markup=False, soft_wrap=True)

    def rows(self, rows: list[str]) -> None:
        self._console.print("\n".join(rows), highlight=False, markup=False, soft_wrap=True)

    def tick(self) -> None:
        pass

    def _table(self) -> Group:
        from rich.console import Group

        jobs = list(self._latest.values())
        waiting = sum(job.slowest is not None for job in jobs)
        room = self._console.height - 1 - waiting
        return Group(progress_table(jobs, self._doing, room), event_time_lines(jobs))


def progress_table(jobs: list[JobProgress], before_first: str = _WAITING, most_lines: int | None = None) -> Table:
    """A line per job, each with the state of its operators below it if there is room for all of them."""
    from rich.table import Table
    from rich.text import Text

    parts = {job.job: state_parts(job.state) for job in jobs}
    has_room = most_lines is None or 1 + len(jobs) + sum(map(len, parts.values())) <= most_lines
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("job")
    rarely = [(heading, count_of) for heading, count_of in _RARELY if any(map(count_of, jobs))]
    headings = ("batch", "rows in", "in/s", "rows out", "out/s", "batch time", "lag", "state", "last commit")
    for heading in (*headings, *(heading for heading, _ in rarely)):
        table.add_column(heading, justify="right")
    if not jobs:
        table.add_row(Text(f"{before_first} …", style="dim"))
    for job in jobs:
        age = max(time.time() - job.committed_at, 0)
        is_idle = age > job.batch_seconds + _SECONDS_BETWEEN_LINES
        table.add_row(
            Text(job.job),
            str(job.batch),
            count(job.total_rows_in),
            count(0 if is_idle else job.rows_in_per_second),
            count(job.total_rows_out),
            count(0 if is_idle else job.rows_out_per_second),
            duration(job.batch_seconds),
            Text(_lag(job)),
            size(job.state_bytes),
            f"{duration(age)} ago",
            *(count(count_of(job)) for _, count_of in rarely),
        )
        for part in parts[job.job] if has_room else ():
            cells = dict.fromkeys(headings, "") | {"state": size(part.bytes)}
            table.add_row(Text(f"  {part.name}, {count(part.rows)} rows"), *cells.values(), style="dim")
    return table


def event_time_lines(jobs: list[JobProgress]) -> Group:
    """How far event time has come in each job that waits for it, and what holds it back."""
    from rich.console import Group
    from rich.text import Text

    lines = (f"{job.job}: {job.slowest.text}" for job in jobs if job.slowest is not None)
    return Group(*(Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in lines))


def _lag(progress: JobProgress) -> str:
    return ", ".join(f"{lag.source} {count(lag.messages)}" for lag in progress.lag)


def _state(progress: JobProgress) -> str:
    parts = sorted(state_parts(progress.state), key=attrgetter("bytes"), reverse=True)
    if not parts:
        return ""
    smaller = [f"{len(parts) - _NAMED} smaller"] if len(parts) > _NAMED else []
    return f", state {size(progress.state_bytes)} ({', '.join([*map(str, parts[:_NAMED]), *smaller])})"


def _line(progress: JobProgress) -> str:
    missed = progress.total_ignored_retractions
    return (
        f"{time.strftime('%H:%M:%S', time.localtime(progress.committed_at))} {progress.job} batch {progress.batch}: "
        f"{count(progress.rows_in)} rows in ({count(progress.rows_in_per_second)}/s), "
        f"{count(progress.rows_out)} out ({count(progress.rows_out_per_second)}/s), "
        f"{duration(progress.batch_seconds)}"
        f"{f', lag {_lag(progress)}' if progress.lag else ''}"
        f"{_state(progress)}"
        f"{f', {count(progress.skipped)} skipped so far' if progress.skipped else ''}"
        f"{f', {count(progress.dead_letters)} dead letters so far' if progress.dead_letters else ''}"
        f"{f', {count(missed)} retractions ignored' if missed else ''}"
        f"{f', {count(progress.total_late_rows)} late rows dropped so far' if progress.late else ''}"
        f"{f', {progress.slowest.text}' if progress.slowest is not None else ''}"
        f"{f', {count(progress.lost)} offsets lost so far' if progress.lost else ''}"
    )
