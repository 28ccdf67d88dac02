"""`millstream produce`: lines of standard input as messages of a topic."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from millstream.topics.writing import MessageLines, write_messages

if TYPE_CHECKING:
    from millstream.cli.topics import ClusterRequest


def produce(request: ClusterRequest, topic: str, key: str | None) -> int:
    fields = tuple(name.strip() for name in key.split(",")) if key is not None else ()
    count = write_messages(request.connect(), topic, MessageLines(sys.stdin.buffer, fields))
    print(f"{count:,} message{'' if count == 1 else 's'} written to {topic}", file=sys.stderr)
    return 0
