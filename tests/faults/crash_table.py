"""The table of crash cases in docs/reliability.md. Rows of cases that are not run stay unchanged."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Final, Self

from millstream.connectors.kafka.option_values import DeliveryGuarantee
from millstream.failpoints import FAILPOINTS
from tests.faults.crashes import CRASHES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.faults.crashes import Crash, Found

    Place = tuple[str, str, str]

_BLOCK: Final = re.compile(r"(<!-- crashes: made by `make faults` -->\n).*?(<!-- end of crashes -->)", re.DOTALL)
_PLACES: Final = "| ended at | when |\n|---|---|\n"
_LINES: Final = (
    "| guarantee | query | ended at | runs | kept | messages | missing | twice |\n|---|---|---|--:|--:|--:|--:|--:|\n"
)


@dataclass(frozen=True, slots=True)
class Line:
    """All runs that were ended at one place."""

    guarantee: str
    query: str
    failpoint: str
    runs: int
    kept: int
    """How many of them kept what their guarantee promises."""
    messages: int
    missing: int
    twice: int

    @classmethod
    def of(cls, crash: Crash, runs: Sequence[Found | None]) -> Self:
        """None is a run without a result: it did not reach the failpoint, or did not start again."""
        found = [run for run in runs if run is not None]
        return cls(
            *place_of(crash),
            runs=len(runs),
            kept=sum(run.keeps(crash.guarantee) for run in found),
            messages=sum(run.messages for run in found),
            missing=sum(run.missing for run in found),
            twice=sum(run.twice for run in found),
        )

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parses a row of the table; None for any other line."""
        cells = [cell.strip(" `") for cell in text.strip("|").split("|")]
        numbers = [cell.replace(",", "") for cell in cells[3:]]
        if len(numbers) != 5 or not all(map(str.isdigit, numbers)):
            return None
        return cls(cells[0], cells[1], cells[2], *map(int, numbers))

    @property
    def place(self) -> Place:
        return self.guarantee, self.query, self.failpoint

    def __str__(self) -> str:
        numbers = (f"{number:,}" for number in astuple(self)[3:])
        return f"| {' | '.join((self.guarantee, self.query, f'`{self.failpoint}`', *numbers))} |"


def place_of(crash: Crash) -> Place:
    return crash.guarantee.value, crash.job.query, crash.failpoint


def update_table(page: str, lines: Iterable[Line]) -> str:
    """The page with these rows added or replaced, in the order of the cases."""
    block = _BLOCK.search(page)
    assert block is not None, "the page has no place for the table"
    kept = (line for text in block[0].splitlines() if (line := Line.read(text)))
    known = {line.place: line for line in (*kept, *lines)}
    shown = [known[place] for place in dict.fromkeys(map(place_of, CRASHES)) if place in known]
    places = "".join(f"| `{name}` | {when} |\n" for name, when in FAILPOINTS.items())
    table = "".join(f"{line}\n" for line in shown)
    return _BLOCK.sub(lambda old: f"{old[1]}{_PLACES}{places}\n{_summarise(shown)}\n\n{_LINES}{table}{old[2]}", page)


def _summarise(lines: Sequence[Line]) -> str:
    runs, kept = sum(line.runs for line in lines), sum(line.kept for line in lines)
    once = [line for line in lines if line.guarantee == DeliveryGuarantee.EXACTLY_ONCE]
    doubled = sum(line.twice for line in once)
    again = sum(line.twice for line in lines) - doubled
    missing = sum(line.missing for line in lines)
    return (
        f"In all: {runs:,} runs, of which {kept:,} kept what is promised; {missing:,} missing, "
        f"{doubled:,} twice where each is to be there once, {again:,} written again where that is allowed."
    )
