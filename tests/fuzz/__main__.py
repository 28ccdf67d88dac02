"""`make fuzz MINUTES=10 SEED=7`: generates messages of every format, and reports those that a decoder fails on."""

from __future__ import annotations

import itertools
import sys
import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tests.fuzz.examination import Tally
from tests.fuzz.tables import FORMATS, draw_message, draw_table
from tests.fuzz.texts import Draw
from tests.fuzz.watch import Finding, Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

_MESSAGES_OF_A_ROUND: Final = 40
_SECONDS_BETWEEN_LINES: Final = 10


class Fuzz:
    def __init__(self, seed: int, formats: tuple[str, ...] = FORMATS) -> None:
        self._seed = seed
        self._formats = formats
        self._began = time.monotonic()
        self.counters = dict.fromkeys(formats, Tally())
        self.findings: dict[str, Finding] = {}
        """By kind: one of each is reported."""
        self.repeated = 0

    def rounds(self, watch: Watch, count: int | None = None) -> Iterator[None]:
        """Messages of each format in turn, each time for another table; yields after each round."""
        for number in itertools.count() if count is None else range(count):
            for format_ in self._formats:
                rng = Draw(f"{self._seed} {format_} {number}")
                table = draw_table(rng, format_)
                self._take(
                    watch.examine(table, [draw_message(rng, table) for _ in range(_MESSAGES_OF_A_ROUND)]), format_
                )
                yield

    def _take(self, result: Tally | Finding, format_: str) -> None:
        if isinstance(result, Tally):
            self.counters[format_] += result
        elif result.kind in self.findings:
            self.repeated += 1
        else:
            self.findings[result.kind] = result
            print(f"{self.seconds:7.1f} s  FOUND {result}", flush=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def messages(self) -> int:
        return sum(tally.messages for tally in self.counters.values())

    def summary(self) -> str:
        head = f"{'format':24} {'messages':>9} {'rows':>11} {'skipped':>8} {'unreadable':>10} {'failures':>8}"
        lines = [
            f"{format_:24} {tally.messages:9,} {tally.rows:11,} {tally.skipped:8,} {tally.unreadable:10,} "
            f"{sum(found.table.format == format_ for found in self.findings.values()):8}"
            for format_, tally in self.counters.items()
        ]
        return "\n".join([head, *lines])


def main(
    *,
    minutes: Annotated[float, typer.Option(help="How long to run.")] = 10.0,
    seed: Annotated[
        int | None, typer.Option(help="The seed of all random choices.", show_default="the current time")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Only this format.", show_default="all")] = None,
) -> None:
    seed = int(time.time()) if seed is None else seed
    print(f"seed {seed}", flush=True)
    fuzz = Fuzz(seed, FORMATS if only is None else (only,))
    reported = 0.0
    with Watch() as watch:
        for _ in fuzz.rounds(watch):
            if fuzz.seconds >= 60 * minutes:
                break
            if fuzz.seconds - reported >= _SECONDS_BETWEEN_LINES:
                reported = fuzz.seconds
                print(f"{reported:7.1f} s  {fuzz.messages:,} messages, {len(fuzz.findings)} failures", flush=True)
    print(fuzz.summary())
    print(f"seed {seed}: {len(fuzz.findings)} failures, {fuzz.repeated} repetitions")
    print(*fuzz.findings.values(), sep="\n")
    sys.exit(1 if fuzz.findings else 0)


if __name__ == "__main__":
    typer.run(main)
