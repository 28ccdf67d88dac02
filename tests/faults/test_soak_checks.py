"""Tests that the checks of a soak test find errors, and that a seed determines its course."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import pytest

from millstream.failpoints import FAILPOINTS
from millstream.testing.script_messages import Message, Received
from tests.faults.soak.checks import Found, check_changed, check_counted, check_joined, check_passed
from tests.faults.soak.jobs import change, expected_changes, expected_counts, expected_joined, order
from tests.faults.soak.kills import Victim, life_plans
from tests.runtime.topics import as_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.soak.jobs import Row

FED = 200


def receive(values: list[Any], keys: list[int] | None = None, partition: int = 0) -> list[Received]:
    written = [None] * len(values) if keys is None else [as_json({"customer": key}) for key in keys]
    return [
        Received(Message(key, as_json(value)), partition, offset)
        for offset, (key, value) in enumerate(zip(written, values, strict=True))
    ]


def pass_messages() -> list[Received]:
    return receive([{"id": number} for number in range(FED)])


def count_messages(expected: Callable[[int], dict[int, Row]] = expected_counts) -> list[Received]:
    """The table after every tenth number, as batches of ten would write it."""
    rows = [
        expected(fed)[customer]
        for fed in range(10, FED + 1, 10)
        for customer in sorted({order(number)["customer"] for number in range(fed - 10, fed)})
    ]
    return receive(rows, [row["customer"] for row in rows])


def change_messages() -> list[Received]:
    """Retracts the previous row, and writes the current one."""
    changes: list[dict[str, Any]] = []
    for before, after in pairwise(map(expected_changes, range(0, FED + 1, 10))):
        for customer in sorted(before.keys() | after.keys()):
            old, new = before.get(customer), after.get(customer)
            if old != new:
                changes += [{"before": old, "after": None, "op": "d"}] if old else []
                changes += [{"before": None, "after": new, "op": "c"}] if new else []
    return receive(changes, [(each["before"] or each["after"])["customer"] for each in changes])


CASES = (
    pytest.param(check_passed, pass_messages(), id="passed"),
    pytest.param(check_counted, count_messages(), id="counted"),
    pytest.param(check_changed, change_messages(), id="changed"),
    pytest.param(check_joined, count_messages(expected_joined), id="joined"),
)


@pytest.mark.parametrize(("check", "messages"), CASES)
def test_each_message_once(check: Any, messages: list[Received]) -> None:
    assert check(messages, FED) == Found(len(messages))


@pytest.mark.parametrize(("check", "messages"), CASES)
@pytest.mark.parametrize("at", [0, 20, -12])
def test_batch_that_is_written_again_is_found(check: Any, messages: list[Received], at: int) -> None:
    end = at % len(messages) + 10
    assert check([*messages[:end], *messages[at:end], *messages[end:]], FED).doubled > 0


@pytest.mark.parametrize(("check", "messages"), CASES)
def test_one_message_that_is_written_again_is_found(check: Any, messages: list[Received]) -> None:
    for position, again in enumerate(messages):
        found = check([*messages[:position], again, *messages[position:]], FED)
        assert found.doubled > 0, again


@pytest.mark.parametrize(("check", "messages"), CASES)
def test_end_that_is_missing_is_found(check: Any, messages: list[Received]) -> None:
    assert check(messages[:-1], FED).lost > 0
    assert check([], FED).lost > 0


@pytest.mark.parametrize(("check", "messages"), [CASES[0], CASES[2]])
def test_message_that_is_missing_anywhere_is_found(check: Any, messages: list[Received]) -> None:
    """Not for an upsert table, where the next message of a key corrects it."""
    for position, missing in enumerate(messages):
        assert check([*messages[:position], *messages[position + 1 :]], FED).lost > 0, missing


def test_number_that_was_not_fed_is_found() -> None:
    assert check_passed([*pass_messages(), *receive([{"id": FED}])], FED) == Found(FED + 1, doubled=1)


def test_count_that_falls_or_goes_is_found() -> None:
    messages = count_messages()
    assert check_counted([*messages, messages[0]], FED).doubled > 0
    gone = Received(Message(messages[-1].message.key, None), 0, len(messages))
    assert check_counted([*messages, gone], FED).doubled > 0


def test_side_of_a_join_that_falls_behind_is_found() -> None:
    first = {"customer": 3, "orders": 2, "last": None}
    rows = [first, {**first, "last": 20}, {**first, "orders": 3, "last": 20}, {**first, "orders": 3, "last": 37}]
    assert check_joined(receive(rows, [3] * 4), FED).doubled == 0
    assert check_joined(receive([*rows, rows[2]], [3] * 5), FED).doubled == 1
    assert check_joined(receive([*rows, {**rows[3], "orders": 2}], [3] * 5), FED).doubled == 1


def test_key_in_two_partitions_is_found() -> None:
    messages = count_messages()
    first = messages[0]
    elsewhere = Received(first.message, 1, 0)
    assert check_counted([*messages[1:], elsewhere], FED).lost > 0


def test_wrong_distinct_count_is_found() -> None:
    rows = list(expected_counts(FED).values())
    rows[3] = {**rows[3], "amounts": rows[3]["amounts"] - 1}
    assert check_counted(receive(rows, [row["customer"] for row in rows]), FED).lost == 1


def test_input_inserts_changes_and_deletes() -> None:
    assert [change(number)["op"] for number in range(4)] == ["c", "u", "c", "d"]


def test_seed_gives_one_course_and_every_kind_of_kill() -> None:
    plans = list(islice(life_plans(7), 300))
    assert plans == list(islice(life_plans(7), 300))
    assert plans != list(islice(life_plans(8), 300))
    victims = {kill.victim for plan in plans for kill in plan.kills}
    assert victims == set(Victim) - {Victim.FAILPOINT, Victim.EXCEPTION, Victim.CANCELLED}
    assert {plan.armed.partition(":")[0] for plan in plans if plan.armed} == set(FAILPOINTS)
