"""Sizes in options, as Flink writes them: `10 gb`, `512mb`; units are powers of 1024, a bare number is in bytes."""

from __future__ import annotations

import re
from typing import Final

from millstream.catalog.options import OptionType

_UNITS: Final = (
    ("", "b", "bytes"),
    ("k", "kb", "kibibytes"),
    ("m", "mb", "mebibytes"),
    ("g", "gb", "gibibytes"),
    ("t", "tb", "tebibytes"),
)
_FACTORS: Final[dict[str, int]] = {label: 1 << 10 * power for power, labels in enumerate(_UNITS) for label in labels}


def _memory_size(value: str) -> int:
    match = re.fullmatch(r"\s*([0-9]+)\s*([a-z]*)\s*", value.lower())
    if match is None or match[2] not in _FACTORS:
        raise ValueError(f'"{value}" is not a size such as 10 gb or 512 mb')
    size = int(match[1]) * _FACTORS[match[2]]
    if not size:
        raise ValueError("the size is zero")
    return size


memory_size: Final = OptionType("MEMORYSIZE", _memory_size)


def format_memory_size(size: int) -> str:
    """`1.5 GiB`."""
    amount, unit = float(size), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:  # noqa: PLR2004
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}" if unit != "bytes" else f"{size} bytes"
