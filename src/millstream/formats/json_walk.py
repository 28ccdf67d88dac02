"""Walks through many messages of one layout at a time: eight bytes of each are one number of a column.

All arithmetic is modulo 2**64; the lowest byte of a word is the first in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from millstream.formats.byte_views import MASKS, view_texts
from millstream.formats.json_layout import Hole

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import TypeAlias

    from numpy.typing import NDArray

    from millstream.formats.json_layout import Layout

    Positions: TypeAlias = NDArray[np.int64]
    Words: TypeAlias = NDArray[np.uint64]
    Mask: TypeAlias = NDArray[np.bool_]

WORD: Final = 8
WINDOW: Final = 64
"""How many bytes of a message are read at a time."""
_TEXT: Final = 40
"""How many of them are compared with a text, at most, so that enough of a value follow."""
_LONGEST: Final = 128
"""Of strings, in bytes. The parser is no slower on longer ones."""
_MOST_DIGITS: Final = 18
_U = np.uint64
_ONES: Final = _U(0x0101010101010101)
_HIGHS: Final = _U(0x8080808080808080)
_LOWS: Final = _U(0x7F7F7F7F7F7F7F7F)
_QUOTES: Final = _U(0x2222222222222222)
_ZEROS: Final = _U(0x3030303030303030)
_ABOVE_NINE: Final = _U(0x7676767676767676)
_POWERS: Final = np.array([10**digits for digits in range(_MOST_DIGITS + 1)], np.int64)
_FIRST: Final = _U(0xFF)
_MINUS, _ZERO, _POINT = (_U(ord(character)) for character in "-0.")


@dataclass(frozen=True, slots=True)
class Strings:
    starts: Positions
    ends: Positions


class Kind(IntEnum):
    """What a bare value is."""

    INTEGER = 0
    FRACTION = 1
    NULL = 2
    TRUE = 3
    FALSE = 4


_BARE_WORDS: Final = ((Kind.NULL, b"null"), (Kind.TRUE, b"true"), (Kind.FALSE, b"false"))


@dataclass(frozen=True, slots=True)
class Bare:
    """Numbers, booleans and nulls."""

    starts: Positions
    ends: Positions
    integers: NDArray[np.int64]
    """Of those that are integers."""
    kinds: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Walked:
    """The messages that have a layout, by their number, and what is in its holes."""

    rows: Positions
    values: dict[int, Strings | Bare]
    """By the number of the hole."""

    def select(self, rows: Mask) -> Walked:
        return Walked(self.rows[rows], {hole: _select(value, rows) for hole, value in self.values.items()})


class Text:
    """The bytes of all messages, at least `WINDOW` of them."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data = data

    def walk(
        self, layout: Layout, wanted: Collection[int], rows: Positions, starts: Positions, ends: Positions
    ) -> Walked:
        """The walk ends early for a message that differs from the layout. `wanted` are the holes to be kept."""
        at, going = starts, np.arange(len(rows))
        found: dict[int, tuple[Strings | Bare, Positions]] = {}
        for number, (text, hole) in enumerate(zip(layout.texts, (*layout.holes, None), strict=True)):
            fits, window = self._compare(text, at)
            at = at + len(text)
            if hole is None:
                fits &= at == ends
            elif fits.any():
                value = self._read_string(at, window) if hole is Hole.STRING else self._read_bare(at, window, fits)
                at = value.ends
                if number in wanted:
                    found[number] = value, going
            if not fits.all():
                going, ends, at = going[fits], ends[fits], at[fits]
                if not len(going):
                    return Walked(rows[:0], {})
        # What was read of messages that differ further on is dropped at the end, once for each value.
        values = {
            number: value if len(read) == len(going) else _select(value, np.searchsorted(read, going))
            for number, (value, read) in found.items()
        }
        return Walked(rows[going], values)

    def copy(self, buffer: pa.Buffer, starts: Positions, lengths: Positions, nulls: Mask | None) -> pa.Array:
        """A column of these parts of the text, which is in this buffer."""
        window = self._open(starts, 2 * WORD)
        words = window.word(0), window.word(WORD // 2)
        return view_texts(buffer, starts, lengths, words, type_=pa.string_view(), nulls=nulls)

    def _open(self, at: Positions, size: int) -> _Window:
        """Reading a few more bytes costs little; reading once more costs as much again."""
        last = len(self.data) - size
        windows = np.ndarray((last + 1,), f"V{size}", self.data, strides=(1,))
        beyond = np.flatnonzero(at > last) if len(at) and int(at.max()) > last else ()
        if not len(beyond):
            return _Window(windows[at].view(np.uint8), size, 0)
        opened = windows[np.minimum(at, last)].view(np.uint8).reshape(-1, size)
        for row in beyond:
            rest = self.data[int(at[row]) :]
            opened[row] = 0
            opened[row, : len(rest)] = rest
        return _Window(opened.reshape(-1), size, 0)

    def _compare(self, text: bytes, at: Positions) -> tuple[Mask, _Window]:
        """Which messages have the text there, and what follows it."""
        fits = np.ones(len(at), np.bool_)
        for place in range(0, max(len(text), 1), _TEXT):
            part = text[place : place + _TEXT]
            window = self._open(at + place, WINDOW)
            if place and not fits.any():
                break
            for word in range(0, len(part), WORD):
                wanted = part[word : word + WORD]
                found = window.word(word)
                if len(wanted) < WORD:
                    found = found & MASKS[len(wanted)]
                fits &= found == _U(int.from_bytes(wanted, "little"))
        return fits, window.behind(len(part))

    def _read_string(self, starts: Positions, window: _Window) -> Strings:
        """A string that is too long gets a wrong end, where there is no quotation mark."""
        length = _count_before_quote(window)
        place = window.left
        going = np.flatnonzero(length == place)
        while len(going) and place < _LONGEST:
            further = self._open(starts[going] + place, WINDOW)
            count = _count_before_quote(further)
            length[going] += count
            place += WINDOW
            going = going[count == WINDOW]
        return Strings(starts, starts + length)

    def _read_bare(self, starts: Positions, window: _Window, fits: Mask) -> Bare:
        """Only a value leaves `fits` as it is."""
        words = window.word(0)
        first = words & _FIRST
        negative = first == _MINUS
        digits_at = starts
        if negative.any():
            digits_at = starts + negative
            words = np.where(negative, window.word(1), words)
            first = words & _FIRST
        integers, length = self._read_digits(words, digits_at)
        np.negative(integers, out=integers, where=negative)
        ends = digits_at + length
        kinds = np.zeros(len(starts), np.uint8)
        is_number = length > 0
        is_value = is_number & (length <= _MOST_DIGITS) & ~((first == _ZERO) & (length > 1))
        if not is_number.all():
            for kind, word in _BARE_WORDS:
                is_word = ((words & MASKS[len(word)]) == _U(int.from_bytes(word, "little"))) & ~negative
                is_value |= is_word
                kinds[is_word] = kind
                ends[is_word] += len(word)
        fractions = ((words >> (np.minimum(length, WORD - 1) * 8).astype(_U)) & _FIRST) == _POINT
        if (length >= WORD).any():
            fractions |= self.data[ends.clip(max=len(self.data) - 1)] == _POINT
        if fractions.any():
            decimals = ends + 1
            _, length = self._read_digits(self._open(decimals, WORD).word(0), decimals)
            is_value &= ~fractions | ((length > 0) & (length <= _MOST_DIGITS) & is_number)
            kinds[fractions] = Kind.FRACTION
            ends = np.where(fractions, decimals + length, ends)
        fits &= is_value
        return Bare(starts, ends, integers, kinds)

    def _read_digits(self, words: Words, at: Positions) -> tuple[NDArray[np.int64], Positions]:
        """The number that the digits there are, and how many there are; more are possible than can be a number."""
        numbers, length = _sum_digits(words)
        going = np.flatnonzero(length == WORD)
        while len(going) and int(length.max()) <= _MOST_DIGITS:
            further, count = _sum_digits(self._open(at[going] + length[going], WORD).word(0))
            numbers[going] = numbers[going] * _POWERS[count] + further
            length[going] += count
            going = going[count == WORD]
        return numbers, length


@dataclass(frozen=True, slots=True)
class _Window:
    """The same number of bytes of each message."""

    data: NDArray[np.uint8]
    size: int
    start: int

    def word(self, place: int) -> Words:
        return np.ndarray((len(self.data) // self.size,), "<u8", self.data, self.start + place, (self.size,))

    @property
    def left(self) -> int:
        """How many bytes of whole words there are; a text leaves room for a word at least."""
        return (self.size - self.start) // WORD * WORD

    def behind(self, length: int) -> _Window:
        return _Window(self.data, self.size, self.start + length)


def _sum_digits(words: Words) -> tuple[NDArray[np.int64], Positions]:
    """The number that the first digits of each word are, and how many there are."""
    values = words ^ _ZEROS
    length = _count_before((((values & _LOWS) + _ABOVE_NINE) | values) & _HIGHS)
    values = np.where(length > 0, values << ((WORD - np.maximum(length, 1)) * 8).astype(_U), _U(0))
    values = (values * _U(10) + (values >> _U(8))) & _U(0x00FF00FF00FF00FF)
    values = (values * _U(100) + (values >> _U(16))) & _U(0x0000FFFF0000FFFF)
    values = (values * _U(10_000) + (values >> _U(32))) & _U(0xFFFFFFFF)
    return values.view(np.int64), length


def _find_quote(words: Words) -> Positions:
    """How many bytes of each word are before a quotation mark."""
    others = words ^ _QUOTES
    return _count_before((others - _ONES) & ~others & _HIGHS)


def _count_before_quote(window: _Window) -> Positions:
    """How many bytes of the window's words are before a quotation mark."""
    length = _find_quote(window.word(0))
    for place in range(WORD, window.left, WORD):
        is_open = length == place
        if not is_open.any():
            break
        length += np.where(is_open, _find_quote(window.word(place)), 0)
    return length


def _count_before(marks: Words) -> Positions:
    """How many bytes are before the first whose highest bit is set: all of them if there is none."""
    return np.bitwise_count((marks & (~marks + _U(1))) - _U(1)).astype(np.int64) >> 3


def _select(value: Strings | Bare, rows: Mask | Positions) -> Strings | Bare:
    if isinstance(value, Strings):
        return Strings(value.starts[rows], value.ends[rows])
    return Bare(value.starts[rows], value.ends[rows], value.integers[rows], value.kinds[rows])
