"""A timeout for calls of Kafka's client that have none of their own."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException

if TYPE_CHECKING:
    from collections.abc import Callable


def call_with_timeout(seconds: float, call: Callable[[], object]) -> None:
    """Raises what the call raises, or a timeout. A call that hangs is abandoned, with all that it holds."""
    ended: SimpleQueue[Exception | None] = SimpleQueue()

    def run() -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            ended.put(error)
        else:
            ended.put(None)

    threading.Thread(target=run, daemon=True).start()
    try:
        failure = ended.get(timeout=seconds)
    except Empty:
        late = KafkaError(KafkaError._TIMED_OUT, f"Kafka gave no answer within {seconds:g} s")  # noqa: SLF001
        raise KafkaException(late) from None
    if failure is not None:
        raise failure
