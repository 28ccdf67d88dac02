"""`millstream peek`: messages of a topic as a table or as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from millstream.display_width import display_width
from millstream.formats.confluent_format import RegistryOptions
from millstream.topics.conditions import Condition
from millstream.topics.messages import follow, read_newest, read_range
from millstream.topics.payloads import PayloadReader
from millstream.topics.rows import read_messages, table_of
from millstream.topics.starts import starts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from millstream.cli.topics import ClusterRequest
    from millstream.topics.cluster import Cluster
    from millstream.topics.messages import TopicMessage
    from millstream.topics.rows import MessageTable, ReadMessage

_DEFAULT_COUNT: Final = 10
_TOGETHER: Final = 500
_GAP: Final = "  "


@dataclass(frozen=True, slots=True)
class PeekRequest:
    """`start` is where reading begins, and None for the newest messages; `count` of None is all when following."""

    cluster: ClusterRequest
    topic: str
    start: str | None = None
    count: int | None = None
    follow: bool = False
    where: str | None = None
    registry: str | None = None
    as_json: bool = False


def peek(request: PeekRequest) -> int:
    cluster = request.cluster.connect()
    condition = Condition(request.where) if request.where is not None else None
    reader = PayloadReader(RegistryOptions(request.registry) if request.registry is not None else None)

    def choose(messages: Iterable[TopicMessage]) -> list[ReadMessage]:
        read = read_messages(messages, reader)
        return read if condition is None else condition.keep(read)

    output = _Output(as_json=request.as_json)
    for found in _limit(_read(request, cluster, choose), request):
        output.write(found)
    if condition is not None:
        condition.require_columns()
    if not output.has_written:
        print(f"no message of {request.topic} {'matches' if condition else 'is there'}", file=sys.stderr)
    return 0


class _Choose(Protocol):
    def __call__(self, messages: Iterable[TopicMessage], /) -> list[ReadMessage]: ...


def _read(request: PeekRequest, cluster: Cluster, choose: _Choose) -> Iterator[list[ReadMessage]]:
    ends = starts_of(cluster, request.topic, "latest")
    if request.start is None:
        yield read_newest(cluster, request.topic, ends, request.count or _DEFAULT_COUNT, choose)
        starts = ends
    else:
        starts = starts_of(cluster, request.topic, request.start)
    if request.follow:
        yield from (choose(found) for found in follow(cluster, request.topic, starts))
    elif request.start is not None:
        yield from (choose(found) for found in _in_portions(read_range(cluster, request.topic, starts, ends)))


def _in_portions(messages: Iterator[TopicMessage]) -> Iterator[list[TopicMessage]]:
    return iter(lambda: list(islice(messages, _TOGETHER)), [])


def _limit(portions: Iterator[list[ReadMessage]], request: PeekRequest) -> Iterator[list[ReadMessage]]:
    """The first ones, if there is a limit."""
    left = request.count if request.follow else request.count or _DEFAULT_COUNT
    for portion in portions:
        if left is None:
            yield portion
            continue
        yield portion[:left]
        left -= min(left, len(portion))
        if not left:
            return


@dataclass(slots=True)
class _Output:
    as_json: bool
    has_written: bool = False
    _table: MessageTable | None = None
    _widths: list[int] = field(default_factory=list)

    def write(self, messages: Sequence[ReadMessage]) -> None:
        if not messages:
            return
        self.has_written = True
        if self.as_json:
            for read in messages:
                print(json.dumps(read.as_json(), ensure_ascii=False))
        else:
            print("\n".join(self._lines(messages)))
        sys.stdout.flush()

    def _lines(self, messages: Sequence[ReadMessage]) -> Iterator[str]:
        """The first messages say which columns there are, and how wide."""
        table = self._table or table_of(messages)
        rows = [table.cells(read) for read in messages]
        if self._table is None:
            self._table = table
            self._widths = [max(map(display_width, column)) for column in zip(table.headings, *rows, strict=True)]
            yield self._line(table.headings)
            yield self._line(["-" * width for width in self._widths])
        yield from map(self._line, rows)

    def _line(self, cells: Sequence[str]) -> str:
        padded = (cell + " " * (width - display_width(cell)) for cell, width in zip(cells, self._widths, strict=True))
        return _GAP.join(padded).rstrip()
