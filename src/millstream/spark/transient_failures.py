"""Which failures of a query pass by themselves, so that the job may start again.

What is not named here is a fault of the script, the data or the checkpoint: it comes back, and fails the job at once.
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
    """How often in a row it is believed to pass; None leaves that to the restart strategy."""


def _kafka(*exceptions: str) -> str:
    return rf"\b(?:{'|'.join(exceptions)})Exception\b"


def _delivery_failure_pattern(*failures: Failure) -> str:
    """As UndeliveredError is marked. That another run has taken over is none of them: two would take turns."""
    return rf'UndeliveredError: <<millstream [^\n]*"failure": "(?:{"|".join(failures)})"'


_A_FEW: Final = 3
TRANSIENT_FAILURES: Final = (
    # A broker is away, or the connection to it was lost.
    TransientFailure(re.compile(r"kafka\.common\.errors\." + _kafka("Timeout", "Disconnect", "Network"))),
    TransientFailure(re.compile(_kafka("BrokerNotAvailable", "KafkaStorage"))),
    TransientFailure(re.compile(r"Cannot fetch record for offset|Failed to construct kafka consumer[^\n]*bootstrap")),
    TransientFailure(
        re.compile(r"java\.net\.(?:Connect|SocketTimeout|NoRouteToHost)Exception|Connection re(?:fused|set)")
    ),
    TransientFailure(re.compile(r"Broker transport failure|All broker connections are down")),
    TransientFailure(re.compile(r"(?:Local|Broker): (?:Message |Request )?[Tt]imed out")),
    # Another broker takes over.
    TransientFailure(re.compile(_kafka("NotLeaderOrFollower", "LeaderNotAvailable", "FencedLeaderEpoch"))),
    TransientFailure(re.compile(_kafka("UnknownLeaderEpoch", "OffsetNotAvailable", "ReplicaNotAvailable"))),
    TransientFailure(re.compile(_kafka("NotEnoughReplicas(?:AfterAppend)?", "NotController"))),
    TransientFailure(re.compile(_kafka("CoordinatorNotAvailable", "CoordinatorLoadInProgress", "NotCoordinator"))),
    TransientFailure(re.compile(_kafka("RebalanceInProgress", "ThrottlingQuotaExceeded"))),
    # A topic may be missed for a moment by a broker that has just started; one that is deleted stays away.
    TransientFailure(re.compile(_kafka("UnknownTopicOrPartition", "UnknownTopicId")), _A_FEW),
    # The same, said to a producer of ours.
    TransientFailure(re.compile(_delivery_failure_pattern(Failure.AWAY))),
    # A batch that took too long once may take less the next time; so may a process that was killed for its size.
    TransientFailure(re.compile(_delivery_failure_pattern(Failure.ENDED_BY_BROKER, Failure.NO_PROCESS)), _A_FEW),
    # The system killed a worker that was large; or the worker crashes whenever it meets this message.
    TransientFailure(re.compile(WORKER_ENDED), _A_FEW),
)
"""Looked for in all that Spark said; the first that matches is taken."""


def find_transient_failure(failure: MillstreamError) -> TransientFailure | None:
    """None for a failure that would come back."""
    if failure.code not in _MAY_PASS:
        return None
    message = str(failure.__cause__ or "").partition(_PLAN)[0]
    return next((fault for fault in TRANSIENT_FAILURES if fault.words.search(message)), None)
