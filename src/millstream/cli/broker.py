"""millstream broker: a broker in the foreground that keeps its data."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING

from millstream.cli.notice_line import NoticeLine
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from pathlib import Path

_SECONDS_BETWEEN_LOOKS = 0.5


def run_broker(port: int, data: Path, partitions: int) -> int:
    """Runs until Ctrl-C or SIGTERM; the same folder has the same topics and messages the next time."""
    broker = EmbeddedBroker(port, data, partitions, notice=NoticeLine(sys.stderr))
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        broker.start()
        print(f"broker ready at localhost:{broker.address[1]}, data in {data}; Ctrl-C stops it", flush=True)
        while broker.is_running:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        raise broker.failure("the broker ended unexpectedly")
    except KeyboardInterrupt:
        pass
    finally:
        broker.stop()
        signal.signal(signal.SIGTERM, before)
    print("broker stopped", flush=True)
    return 0
