"""What is told of a job beside its batches, as text and as data."""

from __future__ import annotations

import json

import pytest

from millstream.cli.views import JsonView, PlainView
from millstream.runtime.events import JobEvent, JobGoesOn, JobWaits, MessagesLost

AWAY = "no Kafka broker answers at localhost:9092"
EVENTS: list[tuple[JobEvent, str, str]] = [
    (JobWaits("totals", AWAY, 1.0), "waiting", f": {AWAY}\n"),
    (JobWaits("totals", AWAY, 1.0, 2, 1.52), "waiting", f": {AWAY}; attempt 2 in 1.5 s\n"),
    (JobGoesOn("totals", 93.41), "going-on", 'job "totals" resumed after 93.4 s\n'),
    (MessagesLost("totals", "orders", 1, 5, 8), "lost", 'job "totals" lost 3 offsets of orders-1, 5 to 7'),
]


@pytest.mark.parametrize(("event", "kind", "text"), EVENTS)
def test_event_is_shown(event: JobEvent, kind: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    PlainView().event(event)
    assert text in capsys.readouterr().out
    JsonView().event(event)
    reported = json.loads(capsys.readouterr().out)
    assert (reported["event"], reported["job"]) == (kind, "totals")
    assert "batch" not in reported
