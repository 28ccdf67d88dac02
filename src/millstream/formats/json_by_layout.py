"""Reads JSON messages that have one of a few layouts, without a parser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from millstream.formats.json_layout import find_layout
from millstream.formats.json_walk import WINDOW, Bare, Kind, Strings, Text, Walked
from millstream.formats.texts_to_values import bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import EllipsisType

    from numpy.typing import NDArray

    from millstream.formats.json_layout import Layout, Path

_MOST_LAYOUTS: Final = 5
FEWEST_MESSAGES: Final = 4096
"""Of fewer, a parser reads each in less time than it takes to call this many functions."""
_SAMPLE: Final = 256
"""The number of messages among which layouts are looked for."""
_LONGEST_PAUSE: Final = 63
"""In batches."""
_FEW: Final = 1 / 16
"""The share of messages for which a walk costs more than the parser."""
_SPACE: Final = 0x20
_BACKSLASH: Final = 0x5C


class JsonLayoutReader:
    """Remembers the layouts of the last messages. Where they have none, it looks for some ever more rarely."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._layouts: list[Layout] = []
        self._pause = self._paused = 0
        self.able = all(_is_readable(field.type) for field in schema)

    def read(self, messages: pa.Array) -> tuple[pa.Table, NDArray[np.bool_]] | None:
        """The rows of the messages that have a layout, and which these are; None unless they are most of them.

        The messages have to be valid UTF-8, and none may be NULL.
        """
        if not self.able or len(messages) < FEWEST_MESSAGES or len(messages.buffers()[2]) < WINDOW:
            return None
        if self._paused < self._pause:
            self._paused += 1
            return None
        walk = _Walk(messages, self._schema)
        walk.follow(self._layouts)
        frequent = [part for part in walk.parts if len(part.walked.rows) > _FEW * len(messages)]
        self._layouts = [part.layout for part in sorted(frequent, key=lambda part: -len(part.walked.rows))]
        has_layout = np.zeros(len(messages), np.bool_)
        for part in walk.parts:
            has_layout[part.walked.rows] = True
        count = int(has_layout.sum())
        if 2 * count < len(messages):
            self._pause, self._paused = min(2 * self._pause + 1, _LONGEST_PAUSE), 0
            return None
        self._pause = 0
        parts = walk.parts
        if len(parts) > 1:
            places = np.cumsum(has_layout) - 1
            parts = [_Part(part.layout, part.walked, places[part.walked.rows]) for part in parts]
        columns = _Columns(parts, count, walk.text, messages.buffers()[2])
        arrays = [columns.build((field.name,), field.type) for field in self._schema]
        return pa.Table.from_arrays(arrays, schema=self._schema), has_layout


class _Walk:
    """Through the messages of a batch, along one layout after another."""

    def __init__(self, messages: pa.Array, schema: pa.Schema) -> None:
        starts, ends, data = bounds(messages)
        self._messages = messages
        self._schema = schema
        self._starts = starts.astype(np.int64)
        self._ends = ends.astype(np.int64)
        self._left = _find_plain(data, self._starts, self._ends)
        self._few = int(len(messages) * _FEW)
        self._used = frozenset(path for field in schema for path in _paths((field.name,), field.type))
        self.text = Text(data)
        self.parts: list[_Part] = []

    def follow(self, known: list[Layout]) -> None:
        """These layouts, and others if they leave many messages."""
        if 2 * len(self._left) < len(self._messages):
            return
        for layout in known:
            self._follow(layout)
        sample = self._left[:: len(self._left) // _SAMPLE + 1]
        fewest = max(len(sample) * self._few // max(len(self._left), 1), 1)
        for _ in range(_MOST_LAYOUTS - len(self.parts)):
            if len(sample) < fewest or len(self._left) <= self._few:
                break
            new = find_layout(self._messages[int(sample[0])].as_py())
            found = sample[:0] if new is None else self._match(new, sample).rows
            if new is not None and len(found) >= fewest:
                self._follow(new)
            sample = _remove(sample, found) if len(found) else sample[1:]

    def _follow(self, layout: Layout) -> None:
        if len(self._left) > self._few:
            walked = self._match(layout, self._left)
            if len(walked.rows):
                self.parts.append(_Part(layout, walked))
                self._left = _remove(self._left, walked.rows)

    def _match(self, layout: Layout, rows: NDArray[np.int64]) -> Walked:
        """The messages that have the layout, and values such as the columns take."""
        wanted = {hole for path, hole in layout.places.items() if path in self._used}
        walked = self.text.walk(layout, wanted, rows, self._starts[rows], self._ends[rows])
        fits = np.ones(len(walked.rows), np.bool_)
        for field in self._schema if len(walked.rows) else ():
            _keep_fitting(fits, (field.name,), field.type, layout, walked)
        return walked if fits.all() else walked.select(fits)


@dataclass(frozen=True, slots=True)
class _Part:
    """The messages of one layout."""

    layout: Layout
    walked: Walked
    places: NDArray[np.int64] | EllipsisType = ...
    """Of their rows in the columns."""

    def find(self, path: Path) -> Strings | Bare | None:
        hole = self.layout.places.get(path)
        return None if hole is None else self.walked.values[hole]


@dataclass(frozen=True, slots=True)
class _Columns:
    parts: list[_Part]
    count: int
    text: Text
    data: pa.Buffer

    def build(self, path: Path, type_: pa.DataType) -> pa.Array:
        if pa.types.is_struct(type_):
            fields = [self.build((*path, field.name), field.type) for field in type_]
            missing = np.ones(self.count, np.bool_)
            for part in self.parts:
                missing[part.places] = path not in part.layout.objects
            return pa.StructArray.from_arrays(fields, fields=list(type_), mask=pa.array(missing))
        if pa.types.is_integer(type_):
            return pa.array(self._gather(path, lambda bare: bare.integers, missing=0), mask=self._nulls(path)).cast(
                type_
            )
        if pa.types.is_boolean(type_):
            return pa.array(
                self._gather(path, lambda bare: bare.kinds == Kind.TRUE, missing=False), mask=self._nulls(path)
            )
        starts = self._gather(path, lambda value: value.starts, missing=0)
        lengths = self._gather(path, lambda value: value.ends - value.starts, missing=0)
        return self.text.copy(self.data, starts, lengths, self._nulls(path)).cast(type_)

    def _nulls(self, path: Path) -> NDArray[np.bool_] | None:
        nulls = self._gather(path, lambda value: isinstance(value, Bare) and value.kinds == Kind.NULL, missing=True)
        return nulls if nulls.any() else None

    def _gather(self, path: Path, pick: Callable[[Any], Any], *, missing: object) -> NDArray[Any]:
        found = [(part.places, part.find(path)) for part in self.parts]
        if len(found) == 1 and found[0][1] is not None and isinstance(values := pick(found[0][1]), np.ndarray):
            return values
        gathered = np.full(self.count, missing)
        for places, value in found:
            if value is not None:
                gathered[places] = pick(value)
        return gathered


def _paths(path: Path, type_: pa.DataType) -> Iterator[Path]:
    """Of a column and all that is in it."""
    yield path
    for field in type_ if pa.types.is_struct(type_) else ():
        yield from _paths((*path, field.name), field.type)


def _is_readable(type_: pa.DataType) -> bool:
    types = pa.types
    if types.is_struct(type_):
        return all(_is_readable(field.type) for field in type_)
    return any(is_type(type_) for is_type in (types.is_string, types.is_integer, types.is_boolean, types.is_floating))


def _keep_fitting(fits: NDArray[np.bool_], path: Path, type_: pa.DataType, layout: Layout, walked: Walked) -> None:
    """Of the messages, those whose values are such as their columns take."""
    is_object, hole = path in layout.objects, layout.places.get(path)
    value = None if hole is None else walked.values[hole]
    if is_object and pa.types.is_struct(type_):
        for field in type_:
            _keep_fitting(fits, (*path, field.name), field.type, layout, walked)
    elif is_object or (isinstance(value, Strings) and not pa.types.is_string(type_)):
        fits[:] = False
    elif isinstance(value, Bare):
        fits &= _find_kinds(type_)[value.kinds]


def _find_kinds(type_: pa.DataType) -> NDArray[np.bool_]:
    """Which kinds of bare values a column takes."""
    taken = {Kind.NULL}
    if pa.types.is_boolean(type_):
        taken |= {Kind.TRUE, Kind.FALSE}
    elif pa.types.is_integer(type_):
        taken |= {Kind.INTEGER}
    elif pa.types.is_floating(type_):
        taken |= {Kind.INTEGER, Kind.FRACTION}
    return np.array([kind in taken for kind in Kind])


def _remove(rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Both are in order."""
    if len(rows) == len(others):
        return rows[:0]
    return np.delete(rows, np.searchsorted(rows, others))


def _find_plain(data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The messages without escapes, and without line breaks and the like."""
    first = int(starts[0])
    text = data[first : int(ends[-1])]
    rows = np.arange(len(starts))
    if not (text < _SPACE).any() and not (text == _BACKSLASH).any():
        return rows
    special = np.flatnonzero((text < _SPACE) | (text == _BACKSLASH)) + first
    return np.delete(rows, np.searchsorted(ends, special, side="right"))
