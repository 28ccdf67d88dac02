"""Rewrites a script test with the actual results instead of the expected ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.testing.script_steps import Block


@dataclass(frozen=True, slots=True)
class Rewrite:
    block: Block
    lines: tuple[str, ...]


def rewritten(text: str, rewrites: Iterable[Rewrite]) -> str:
    """The file's text with each block replaced, from the last to the first, so that line numbers stay valid."""
    lines = text.split("\n")
    for rewrite in sorted(rewrites, key=lambda rewrite: rewrite.block.first, reverse=True):
        lines[rewrite.block.first - 1 : rewrite.block.end - 1] = rewrite.lines
    return "\n".join(lines)
