"""Walks through many Avro messages of one schema at a time: the same field of all of them is read at once.

It gives up at the first message that is anything but ordinary, by raising UnsettledError or what Arrow raises; the
exact reader then decides what becomes of it.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.formats.byte_views import view_texts
from millstream.formats.java_text import MILLIS_PER_DAY
from millstream.formats.texts_to_values import UnsettledError, bounds
from millstream.formats.value_count import MOST_VALUES, width
from millstream.sql.types import APPROXIMATE, BINARIES, CHARACTER, INT, STRING, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    Positions = NDArray[np.int64]
    Mask = NDArray[np.bool_]

_U: Final = np.uint64
_WORD: Final = 8
_PADDING: Final = 16
"""Bytes at the end, so that a word may be read anywhere."""
_GOES_ON: Final = _U(0x8080808080808080)
_MICROS_PER_MILLI: Final = 1000
_MOST_MILLIS: Final = 2**63 // _MICROS_PER_MILLI - 1
_BITS: Final = {
    TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.DATE: 32, TypeRoot.TIME: 32,
    TypeRoot.BIGINT: 64,
}  # fmt: skip
_MOST_DECIMAL_BYTES: Final = 15
_DECIMAL_BYTES: Final = 16
_MOST_DIGITS: Final = 38
_EXACT: Final = Context(prec=_MOST_DIGITS)
_TIMESTAMPS: Final = (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
_ELEMENTS_OF_A_ROUND: Final = 64
"""A round through the lists of all messages takes as long as so many elements with the exact reader."""
_FIRST_ROUNDS: Final = 16
"""Those that are made in any case."""


class AvroWalk:
    """Reads one field after the other, of all messages. None may be NULL."""

    def __init__(self, messages: pa.Array) -> None:
        starts, ends, data = bounds(messages)
        first, last = (int(starts[0]), int(ends[-1])) if len(messages) else (0, 0)
        self._data = np.concatenate([data[first:last], np.zeros(_PADDING, np.uint8)])
        self._words = np.ndarray((len(self._data) - _WORD + 1,), "<u8", self._data, strides=(1,))
        self._at = starts.astype(np.int64) - first
        self._ends = ends.astype(np.int64) - first
        self._everyone = np.arange(len(messages))
        self._values_left = MOST_VALUES + self._ends - self._at
        self._rounds = self._elements = 0

    def read(self, columns: tuple[tuple[str, DataType], ...], needed: Collection[str]) -> dict[str, pa.Array]:
        found = {}
        for name, type_ in columns:
            array = self._read(type_, self._everyone)
            if name in needed:
                found[name] = array
        return found

    def _read(self, type_: DataType, rows: Positions) -> pa.Array:
        """A value of each of these messages."""
        if not type_.nullable:
            return self._read_values(type_, rows)
        branches = self._take_bytes(rows)
        is_value = branches == 2  # noqa: PLR2004 - the second branch, as zigzag
        if is_value.all():
            return self._read_values(type_, rows)
        _require(is_value | (branches == 0))
        values = self._read_values(type_, rows[is_value])
        return values.take(pa.array(np.cumsum(is_value) - 1, mask=~is_value))

    def _read_values(self, type_: DataType, rows: Positions) -> pa.Array:
        match type_.root:
            case TypeRoot.BOOLEAN:
                flags = self._take_bytes(rows)
                _require(flags <= 1)
                return pa.array(flags.astype(np.bool_))
            case root if root in _BITS:
                return self._read_integers(type_, rows)
            case root if root in _TIMESTAMPS:
                millis = self._take_longs(rows)
                _require((millis > -_MOST_MILLIS) & (millis < _MOST_MILLIS))
                return pa.array(millis * _MICROS_PER_MILLI).view(arrow_type(type_))
            case root if root in APPROXIMATE:
                size = 4 if root is TypeRoot.FLOAT else 8
                words = self._take(rows, np.full(len(rows), size))
                return pa.array(words.astype(f"<u{size}").view(f"<f{size}"))
            case root if root in CHARACTER or root in BINARIES:
                return self._read_texts(rows).cast(arrow_type(type_))
            case TypeRoot.DECIMAL:
                return self._read_decimals(type_, rows)
            case TypeRoot.ROW:
                fields = [self._read(field.type, rows) for field in type_.fields]
                mask = pa.array(np.zeros(len(rows), np.bool_))  # gives a struct without fields its length
                return pa.StructArray.from_arrays(fields, fields=list(arrow_type(type_)), mask=mask)
            case TypeRoot.ARRAY:
                assert type_.element is not None
                offsets, [items] = self._read_blocks(rows, type_.element)
                return pa.ListArray.from_arrays(pa.array(offsets), items).cast(arrow_type(type_))
            case _:
                return self._read_maps(type_, rows)

    def _read_integers(self, type_: DataType, rows: Positions) -> pa.Array:
        numbers = self._take_longs(rows)
        bits = _BITS[type_.root]
        if bits < _BITS[TypeRoot.BIGINT]:
            _require(np.abs(numbers + 0.5) < 2.0 ** (bits - 1))
        if type_.root is TypeRoot.TIME:
            _require((numbers >= 0) & (numbers < MILLIS_PER_DAY))
        narrow = numbers.astype(f"i{bits // 8}")
        return pa.array(narrow).view(arrow_type(type_))

    def _read_maps(self, type_: DataType, rows: Positions) -> pa.Array:
        element = INT if type_.root is TypeRoot.MULTISET else type_.element
        assert element is not None
        offsets, [keys, items] = self._read_blocks(rows, STRING.not_null(), element)
        owners = np.repeat(np.arange(len(rows)), np.diff(offsets))
        codes = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
        if len(np.unique(owners << 32 | codes)) < len(codes):
            raise UnsettledError  # of equal keys, one counts
        return pa.MapArray.from_arrays(pa.array(offsets), keys, items).cast(arrow_type(type_))

    def _read_blocks(self, rows: Positions, *types: DataType) -> tuple[NDArray[np.int32], list[pa.Array]]:
        """What lists and maps consist of: blocks of elements, each of which has its number, and zero at the end.

        A round reads the next element of each message.
        """
        values = sum(map(width, types))
        owners: list[Positions] = []
        parts: list[list[pa.Array]] = [[pa.array([], arrow_type(type_))] for type_ in types]
        left = np.zeros(len(rows), np.int64)
        open_ = np.arange(len(rows))
        while len(open_):
            ended = open_[left[open_] == 0]
            counts = self._take_longs(rows[ended])
            _require(counts >= 0)  # a block that says how long it is
            _require(counts <= self._ends[rows[ended]] - self._at[rows[ended]])
            self._values_left[rows[ended]] -= counts * values
            _require(self._values_left[rows[ended]] >= 0)
            left[ended] = counts
            open_ = open_[left[open_] > 0]
            if len(open_):
                self._begin_round(len(open_))
                for part, type_ in zip(parts, types, strict=True):
                    part.append(self._read(type_, rows[open_]))
                owners.append(open_)
                left[open_] -= 1
        owner = np.concatenate([np.zeros(0, np.int64), *owners])
        order = pa.array(np.argsort(owner, kind="stable"))
        offsets = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(rows))))).astype(np.int32)
        return offsets, [pa.concat_arrays(part).take(order) for part in parts]

    def _begin_round(self, elements: int) -> None:
        """Gives up where few messages have long lists. Lists in lists make rounds in each round."""
        self._rounds += 1
        self._elements += elements
        if self._rounds > max(_FIRST_ROUNDS, self._elements // _ELEMENTS_OF_A_ROUND):
            raise UnsettledError

    def _read_texts(self, rows: Positions) -> pa.Array:
        lengths = self._take_longs(rows)
        starts = self._at[rows]
        _require((lengths >= 0) & (lengths <= self._ends[rows] - starts))
        self._at[rows] = starts + lengths
        words = self._words[starts], self._words[starts + _WORD // 2]
        views = view_texts(pa.py_buffer(self._data), starts, lengths, words, type_=pa.binary_view())
        return views.cast(pa.binary())

    def _read_decimals(self, type_: DataType, rows: Positions) -> pa.Array:
        precision, scale = cast("int", type_.precision), cast("int", type_.scale)
        lengths = self._take_longs(rows)
        _require((lengths > 0) & (lengths <= _MOST_DECIMAL_BYTES))
        ends = self._at[rows] + lengths
        _require(ends <= self._ends[rows])
        self._at[rows] = ends
        column = np.arange(_DECIMAL_BYTES)
        places = ends[:, np.newaxis] - 1 - column
        sign = np.where(self._data[ends - lengths] >> 7, np.uint8(0xFF), np.uint8(0))[:, np.newaxis]
        content = np.where(column < lengths[:, np.newaxis], self._data[places.clip(0)], sign)
        widest = pa.decimal128(_MOST_DIGITS, scale)
        buffers = [None, pa.py_buffer(np.ascontiguousarray(content))]
        unlimited = pa.Array.from_buffers(widest, len(rows), buffers)
        largest = pa.scalar(Decimal(10**precision - 1).scaleb(-scale, _EXACT), widest)
        fits = pc.less_equal(pc.abs(unlimited), largest)
        return pc.if_else(fits, unlimited, pa.scalar(None, widest)).cast(arrow_type(type_))

    def _take_bytes(self, rows: Positions) -> NDArray[np.uint8]:
        at = self._at[rows]
        _require(at < self._ends[rows])
        self._at[rows] = at + 1
        taken: NDArray[np.uint8] = self._data[at]
        return taken

    def _take(self, rows: Positions, sizes: Positions) -> NDArray[np.uint64]:
        """The words that begin with the next bytes, of which so many are taken."""
        at = self._at[rows]
        after = at + sizes
        _require(after <= self._ends[rows])
        self._at[rows] = after
        taken: NDArray[np.uint64] = self._words[at]
        return taken

    def _take_longs(self, rows: Positions) -> NDArray[np.int64]:
        """Numbers of seven bits per byte, the lowest first, each byte but the last with its highest bit set."""
        words = self._words[self._at[rows]]
        ends = ~words & _GOES_ON
        sizes = (np.bitwise_count((ends & (~ends + _U(1))) - _U(1)).astype(np.int64) >> 3) + 1
        is_long = ends == 0
        if is_long.any():
            return self._take_long_longs(rows, is_long)
        self._take(rows, sizes)
        return _from_zigzag(_join_groups(words & (~_U(0) >> ((_WORD - sizes) * 8).astype(_U))))

    def _take_long_longs(self, rows: Positions, is_long: Mask) -> NDArray[np.int64]:
        """Where some take nine or ten bytes."""
        numbers = np.empty(len(rows), np.int64)
        if not is_long.all():
            numbers[~is_long] = self._take_longs(rows[~is_long])
        lowest = _join_groups(self._take(rows[is_long], np.full(int(is_long.sum()), _WORD)))
        ninth = self._take_bytes(rows[is_long])
        goes_on = ninth >> 7 == 1
        tenth = np.zeros_like(ninth)
        tenth[goes_on] = self._take_bytes(rows[is_long][goes_on])
        _require(tenth <= 1)
        highest = (ninth & 0x7F).astype(_U) << _U(56) | tenth.astype(_U) << _U(63)
        numbers[is_long] = _from_zigzag(lowest | highest)
        return numbers


def _join_groups(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Without the highest bit of each byte."""
    words = (words & _U(0x007F007F007F007F)) | (words & _U(0x7F007F007F007F00)) >> _U(1)
    words = (words & _U(0x00003FFF00003FFF)) | (words & _U(0x3FFF00003FFF0000)) >> _U(2)
    joined: NDArray[np.uint64] = (words & _U(0x0FFFFFFF)) | (words & _U(0x0FFFFFFF00000000)) >> _U(4)
    return joined


def _from_zigzag(numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (numbers >> _U(1) ^ (~(numbers & _U(1)) + _U(1))).view(np.int64)


def _require(is_so: Mask) -> None:
    if not is_so.all():
        raise UnsettledError
