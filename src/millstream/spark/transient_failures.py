"""Failures of a query that pass by themselves, after which the job may restart.

Any other failure is a problem of the script, the data or the checkpoint: it would recur, and fails the job at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.delivery.delivery_error import Failure
from millstream.errors import Code
from millstream.spark.failure_patterns import WORKER_ENDED

if TYPE_CHECKING:
    from millstream.errors import MillstreamError

_MAY_PASS: Final = (Code.JOB_FAILED, Code.BROKER_UNREACHABLE, Code.TOPIC_MISSING)
_PLAN: Final = "\n=== Streaming Query ==="


@dataclass(frozen=True, slots=True)
class TransientFailure:
    words: re.Pattern[str]
    attempts: int | None = None
    """How often in a row it is retried; None leaves that to the restart strategy."""


def _kafka(*exceptions: str) -> str:
    return rf"\b(?:{'|'.join(exceptions)})Exception\b"


def _delivery_failure_pattern(*failures: Failure) -> str:
    """As UndeliveredError marks it. A takeover by another run is not among them: the two would fence each other."""
    return rf'UndeliveredError: <<millstream [^\n]*"failure": "(?:{"|".join(failures)})"'


_A_FEW: Final = 3
TRANSIENT_FAILURES: Final = (
    # A broker is unavailable, or the connection to it was lost.
    TransientFailure(re.compile(r"kafka\.common\.errors\." + _kafka("Timeout", "Disconnect", "Network"))),
    TransientFailure(re.compile(_kafka("BrokerNotAvailable", "KafkaStorage"))),
    TransientFailure(re.compile(r"Cannot fetch record for offset|Failed to construct kafka consumer[^\n]*bootstrap")),
    TransientFailure(
        re.compile(r"java\.net\.(?:Connect|SocketTimeout|NoRouteToHost)Exception|Connection re(?:fused|set)")
    ),
    TransientFailure(re.compile(r"\bKafkaAwayError\b")),
    TransientFailure(re.compile(r"Broker transport failure|All broker connections are down")),
    TransientFailure(re.compile(r"(?:Local|Broker): (?:Message |Request )?[Tt]imed out")),
    # Another broker becomes leader or coordinator.
    TransientFailure(re.compile(_kafka("NotLeaderOrFollower", "LeaderNotAvailable", "FencedLeaderEpoch"))),
    TransientFailure(re.compile(_kafka("UnknownLeaderEpoch", "OffsetNotAvailable", "ReplicaNotAvailable"))),
    TransientFailure(re.compile(_kafka("NotEnoughReplicas(?:AfterAppend)?", "NotController"))),
    TransientFailure(re.compile(_kafka("CoordinatorNotAvailable", "CoordinatorLoadInProgress", "NotCoordinator"))),
    TransientFailure(re.compile(_kafka("RebalanceInProgress", "ThrottlingQuotaExceeded"))),
    # A broker that has just started may not know a topic for a moment; one that is deleted stays missing.
    TransientFailure(re.compile(_kafka("UnknownTopicOrPartition", "UnknownTopicId")), _A_FEW),
    TransientFailure(re.compile(r"\bUNKNOWN_TOPIC_OR_PART\b|\b_UNKNOWN_(?:TOPIC|PARTITION)\b"), _A_FEW),
    # The same, reported to our own producers.
    TransientFailure(re.compile(_delivery_failure_pattern(Failure.AWAY, Failure.NOT_READY))),
    TransientFailure(re.compile(_delivery_failure_pattern(Failure.NO_TOPIC)), _A_FEW),
    # A batch that took too long may be faster the next time, and a process killed for its size may be smaller.
    TransientFailure(re.compile(_delivery_failure_pattern(Failure.ENDED_BY_BROKER, Failure.NO_PROCESS)), _A_FEW),
    # The system killed a worker that used too much memory; or the worker crashes on this message every time.
    TransientFailure(re.compile(WORKER_ENDED), _A_FEW),
)
"""Searched for in Spark's whole message; the first that matches is used."""


def find_transient_failure(failure: MillstreamError) -> TransientFailure | None:
    """None for a failure that would recur."""
    if failure.code not in _MAY_PASS:
        return None
    message = str(failure.__cause__ or "").partition(_PLAN)[0]
    return next((fault for fault in TRANSIENT_FAILURES if fault.words.search(message)), None)
