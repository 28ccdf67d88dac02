"""Where reading begins, as `--from` says it."""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.topics.messages import by_number

if TYPE_CHECKING:
    from millstream.topics.cluster import Cluster

FORMS: Final = "earliest, latest, an offset (1200), an age (10m, 2h, 3d) or a time (2026-01-31T12:00)"
_AGE: Final = re.compile(r"(\d+)\s*(s|m|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def starts_of(cluster: Cluster, topic: str, written: str) -> dict[int, int]:
    """The offset of each partition. A time without a zone is one of this machine."""
    cluster.require(topic)
    admin = cluster.admin
    match written:
        case "earliest":
            return by_number(admin.earliest([topic]))
        case "latest":
            return by_number(admin.latest([topic], committed_only=True))
        case _ if written.isdecimal():
            first, last = by_number(admin.earliest([topic])), by_number(admin.latest([topic]))
            return {number: min(max(int(written), first[number]), last[number]) for number in first}
        case _:
            return by_number(admin.at_timestamp([topic], _timestamp_of(written), committed_only=True))


def _timestamp_of(written: str) -> int:
    if (age := _AGE.fullmatch(written)) is not None:
        return int((time.time() - int(age[1]) * _SECONDS[age[2]]) * 1000)
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise ScriptError(
            Diagnostic(Code.BAD_ARGUMENT, f'--from "{written}" is no place in a topic', hint=f"Write {FORMS}.")
        ) from None
    return int(moment.timestamp() * 1000)
