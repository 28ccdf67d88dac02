"""Columns of random text, drawn as a whole."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

_LEAST: Final = 3
"""Characters of a text before its ends are trimmed."""
_ONE_SPECIAL_IN: Final = 13
_LETTERS: Final = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
_VARIATION: Final = 0.2
_POOL: Final = np.random.default_rng(0).choice(_LETTERS, 1 << 20)
"""What fillings are cut from."""


def draw_words(random: np.random.Generator, rows: int, limit: int, special: str = " ") -> pl.Series:
    """Texts shorter than the limit, mostly of letters."""
    lengths = random.integers(_LEAST, limit, rows)
    size = int(lengths.sum())
    characters = random.choice(_LETTERS, size)
    characters[random.integers(0, _ONE_SPECIAL_IN, size) == 0] = ord(special)
    return _texts(characters, lengths).str.strip_chars(" ")


def draw_fillings(random: np.random.Generator, taken: pl.Series | int, size: int) -> pl.Series:
    """So many letters that the average row, which has `taken` bytes already, comes to a size."""
    wanted = np.maximum(size - np.asarray(taken, np.int64), 0)
    variation = np.round(wanted * _VARIATION).astype(np.int64)
    lengths = wanted - variation + random.integers(0, np.maximum(2 * variation, 1))
    starts = random.integers(0, len(_POOL) - lengths)
    ends = np.cumsum(lengths)
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
    return _texts(_POOL[places], lengths)


def _texts(characters: np.ndarray, lengths: np.ndarray) -> pl.Series:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(characters))]
    return pl.Series(pa.LargeStringArray.from_buffers(len(lengths), buffers[1], buffers[2]))
