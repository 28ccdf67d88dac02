"""A short run of `make fuzz`, with a fixed seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.fuzz.__main__ import Fuzz
from tests.fuzz.tables import FORMATS
from tests.fuzz.watch import Watch
from tests.fuzz.written_again import Sinks, UnwritableError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def watch() -> Iterator[Watch]:
    with Watch() as watch:
        yield watch


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_every_message_ends_as_rows_or_is_told(watch: Watch, format_: str, rounds: int) -> None:
    fuzz = Fuzz(1, (format_,))
    for _ in fuzz.rounds(watch, rounds):
        pass
    assert not fuzz.findings, fuzz.findings
    tally = fuzz.counters[format_]
    assert tally.messages >= 30 * rounds
    assert tally.rows
    assert tally.unreadable


@pytest.mark.parametrize(
    ("column", "value"),
    [("tm TIME", pa.array([86_400_000], pa.int32())), ("st STRING", pa.array([b"\xff"]).view(pa.string()))],
    ids=["time outside the day", "text that is not UTF-8"],
)
def test_a_row_that_cannot_be_written_is_told(column: str, value: pa.Array) -> None:
    with pytest.raises(UnwritableError):
        Sinks(column).write(pa.table({column.split(maxsplit=1)[0]: value}))
