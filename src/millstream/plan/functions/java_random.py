"""The first number of java.util.Random, which Flink makes anew for each row if the seed is not a literal."""

from __future__ import annotations

from typing import Final

_MULTIPLIER: Final = 0x5DEECE66D
_INCREMENT: Final = 0xB
_HALF: Final = 24
_HALF_MASK: Final = (1 << _HALF) - 1
_MASK: Final = (1 << 2 * _HALF) - 1


def first_double(seed: str) -> str:
    """`new Random(seed).nextDouble()` as Spark SQL."""
    scrambled = f"((CAST({seed} AS BIGINT) ^ {_MULTIPLIER}L) & {_MASK}L)"
    one = _next_state(scrambled)
    two = _next_state(one)
    return f"(CAST((shiftright({one}, 22) * {1 << 27}L + shiftright({two}, 21)) AS DOUBLE) * {2.0**-53!r}D)"


def _next_state(state: str) -> str:
    """The product has 83 bits, of which 48 are kept: each half of the state is multiplied by itself."""
    high = f"((shiftright({state}, {_HALF}) * {_MULTIPLIER}L & {_HALF_MASK}L) * {1 << _HALF}L)"
    low = f"(({state} & {_HALF_MASK}L) * {_MULTIPLIER}L + {_INCREMENT}L)"
    return f"(({high} + {low}) & {_MASK}L)"
