"""Restart strategies, told of faults at given moments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.catalog.job_settings import RestartSettings
from millstream.runtime.restarts import ExponentialDelay, restarts_of

EXPONENTIAL = "restart-strategy.exponential-delay"
HOUR = 3600.0


def delays(settings: dict[str, str], moments: list[float]) -> list[float | None]:
    restarts = restarts_of(RestartSettings.of(settings))
    return [restarts.delay_after_fault(moment) for moment in moments]


def test_none_never_restarts() -> None:
    assert delays({"restart-strategy.type": "off"}, [0]) == [None]


def test_fixed_delay_has_one_attempt_unless_set() -> None:
    assert delays({"restart-strategy.type": "fixed-delay"}, [0, 10 * HOUR]) == [1.0, None]


def test_fixed_delay_counts_over_the_whole_life() -> None:
    settings = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "2",
        "restart-strategy.fixed-delay.delay": "3 s",
    }
    assert delays(settings, [0, HOUR, 2 * HOUR]) == [3.0, 3.0, None]


def test_failure_rate_forgets_what_is_older_than_the_interval() -> None:
    settings = {
        "restart-strategy.type": "failure-rate",
        "restart-strategy.failure-rate.max-failures-per-interval": "2",
        "restart-strategy.failure-rate.failure-rate-interval": "60 s",
    }
    assert delays(settings, [0, 50, 70, 100]) == [1.0, 1.0, 1.0, None]


def test_exponential_delay_is_the_default_and_endless() -> None:
    found = delays({f"{EXPONENTIAL}.jitter-factor": "0"}, list(range(0, 60 * 100, 60)))
    assert found[:4] == [1.0, 1.5, 2.25, 3.375]
    assert found[-1] == 60.0


def test_exponential_delay_starts_from_the_beginning_after_a_good_while() -> None:
    settings = {f"{EXPONENTIAL}.jitter-factor": "0", f"{EXPONENTIAL}.attempts-before-reset-backoff": "2"}
    assert delays(settings, [0, 10, 2 * HOUR, 2 * HOUR + 10, 2 * HOUR + 20]) == [1.0, 1.5, 1.0, 1.5, None]


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 200))
def test_exponential_delay_stays_within_its_bounds(jitter: float, share: float, faults: int) -> None:
    restarts = ExponentialDelay(1.0, 30.0, 10.0, HOUR, jitter, random_share=lambda: share)
    for moment in range(faults):
        delay = restarts.delay_after_fault(float(moment))
        assert delay is not None
        assert 0 <= delay <= 30.0


@pytest.mark.parametrize("kind", ["none", "fixed-delay", "failure-rate", "exponential-delay"])
def test_every_strategy_has_all_it_needs_by_default(kind: str) -> None:
    delay = restarts_of(RestartSettings.of({"restart-strategy.type": kind})).delay_after_fault(0.0)
    assert (delay is None) == (kind == "none")
