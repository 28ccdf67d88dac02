"""Portions are computed again for whoever looks again, unless there is only one."""

from __future__ import annotations

import pytest

from millstream.kernels.portions import Portions


@pytest.mark.parametrize(("numbers", "times"), [([1], 1), ([1, 2], 3), ([1, 2, 3], 3)])
def test_only_a_single_portion_is_kept(numbers: list[int], times: int) -> None:
    computed: list[int] = []

    def note(number: int) -> int:
        computed.append(number)
        return number

    portions = Portions(lambda: map(note, numbers))
    assert [list(portions) for _ in range(3)] == [numbers] * 3
    assert computed == numbers * times


def test_what_is_made_of_a_single_portion_is_kept() -> None:
    made: list[int] = []

    def double(number: int) -> int:
        made.append(number)
        return 2 * number

    doubled = Portions(lambda: iter([4])).map(double)
    assert [list(doubled), list(doubled)] == [[8], [8]]
    assert made == [4]


def test_portions_are_computed_when_they_are_wanted() -> None:
    begun: list[int] = []

    def compute(number: int) -> int:
        begun.append(number)
        return number

    portions = iter(Portions(lambda: map(compute, range(10))))
    assert next(portions) == 0
    assert begun == [0, 1]
