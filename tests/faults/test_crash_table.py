"""Tests of the table that `make faults` writes, without running a job."""

from __future__ import annotations

from dataclasses import replace

from millstream.connectors.kafka.option_values import DeliveryGuarantee
from millstream.failpoints import FAILPOINTS
from tests.faults.crash_table import Line, place_of, update_table
from tests.faults.crashes import CRASHES, Crash, Found
from tests.faults.report import PAGE

EMPTY = "Before.\n<!-- crashes: made by `make faults` -->\n<!-- end of crashes -->\nBehind.\n"


def crash_of(guarantee: DeliveryGuarantee) -> Crash:
    return next(crash for crash in CRASHES if crash.guarantee is guarantee)


ONCE = crash_of(DeliveryGuarantee.EXACTLY_ONCE)
AT_LEAST = crash_of(DeliveryGuarantee.AT_LEAST_ONCE)


def lines_of(page: str) -> list[Line]:
    return [line for text in page.splitlines() if (line := Line.read(text))]


def test_a_line_is_read_as_it_was_written() -> None:
    line = Line.of(ONCE, [Found(1411, 0, 0), Found(1411, 0, 0)])
    assert str(line) == f"| exactly-once | {ONCE.job.query} | `{ONCE.failpoint}` | 2 | 2 | 2,822 | 0 | 0 |"
    assert Line.read(str(line)) == line
    assert Line.read("| guarantee | query | ended at | runs | kept | messages | missing | twice |") is None


def test_messages_may_be_there_again_only_where_that_is_allowed() -> None:
    again = Found(100, 0, 1)
    assert Line.of(ONCE, [again]).kept == 0
    assert Line.of(AT_LEAST, [again]).kept == 1
    assert Line.of(AT_LEAST, [replace(again, missing=1)]).kept == 0
    assert Line.of(AT_LEAST, [Found(0, 0, 0)]).kept == 0


def test_a_run_that_came_to_nothing_is_told() -> None:
    line = Line.of(ONCE, [None, Found(5, 0, 0)])
    assert (line.runs, line.kept, line.messages) == (2, 1, 5)


def test_lines_of_other_cases_stay_and_all_are_in_the_order_of_the_cases() -> None:
    first, second = Line.of(ONCE, [Found(10, 0, 0)]), Line.of(AT_LEAST, [Found(2000, 0, 30)])
    page = update_table(update_table(EMPTY, [second]), [first])
    assert lines_of(page) == [first, second]
    corrected = replace(first, messages=11)
    assert lines_of(update_table(page, [corrected])) == [corrected, second]
    assert page.startswith("Before.\n")
    assert page.endswith("\nBehind.\n")


def test_a_line_of_a_case_that_is_gone_goes() -> None:
    line = Line.of(ONCE, [Found(10, 0, 0)])
    page = update_table(EMPTY, [line]).replace(f"{line}\n", f"{line}\n{replace(line, failpoint='elsewhere')}\n")
    assert lines_of(update_table(page, [])) == [line]


def test_the_sum_is_of_all_lines() -> None:
    lines = [Line.of(ONCE, [Found(10, 2, 1), None]), Line.of(AT_LEAST, [Found(2000, 0, 30)])]
    assert (
        "In all: 3 runs, of which 1 kept what is promised; 2 missing, 1 twice where each is to be there once, "
        "30 written again where that is allowed."
    ) in update_table(EMPTY, lines)


def test_every_failpoint_is_explained_and_come_by_in_some_case() -> None:
    page = update_table(EMPTY, [])
    assert all(f"| `{name}` | {when} |" in page for name, when in FAILPOINTS.items())
    assert {crash.failpoint for crash in CRASHES} == set(FAILPOINTS)


def test_the_page_has_a_place_for_the_table() -> None:
    page = PAGE.read_text()
    assert {line.place for line in lines_of(update_table(page, []))} <= {place_of(crash) for crash in CRASHES}
