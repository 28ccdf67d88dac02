"""Calls that end, fail or hang."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.delivery.delivery_error import Failure, refusal_error
from millstream.delivery.timeouts import call_with_timeout


def test_call_is_done_when_it_returns() -> None:
    done: list[int] = []
    call_with_timeout(60, lambda: done.append(1))
    assert done == [1]


def test_failure_of_the_call_is_raised() -> None:
    def fail() -> None:
        raise KafkaException(KafkaError(KafkaError.PRODUCER_FENCED))

    with pytest.raises(KafkaException) as raised:
        call_with_timeout(60, fail)
    assert raised.value.args[0].code() == KafkaError.PRODUCER_FENCED


def test_call_that_hangs_is_left_and_passes_for_a_broker_that_is_away() -> None:
    never = threading.Event()
    try:
        with pytest.raises(KafkaException) as raised:
            call_with_timeout(0.01, never.wait)
    finally:
        never.set()
    assert refusal_error(raised.value).failure is Failure.AWAY
