"""Horizontal bars in groups, as SVG that is readable on light and dark pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.comparison.figures import Spread

_WIDTH: Final = 860
_LABELS: Final = 250
_VALUES: Final = 120
_PLOT: Final = _WIDTH - _LABELS - _VALUES
_BAR: Final = 14
_GAP: Final = 3
_BETWEEN_GROUPS: Final = 14
_TOP: Final = 64
_COLORS: Final = ("#2f6fde", "#d9822b", "#b3541e", "#3d9970", "#8e5bd0", "#7a7a7a")
_STYLE: Final = """\
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.value, .note { fill: #57606a }
.axis, .spread { stroke: #57606a; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .value, .note { fill: #9da7b3 }
  .axis, .spread { stroke: #9da7b3 }
}"""


@dataclass(frozen=True, slots=True)
class Bar:
    series: int
    """The place of its system, which decides its colour."""
    spread: Spread


@dataclass(frozen=True, slots=True)
class Group:
    label: str
    bars: Sequence[Bar]


def draw_bars(title: str, series: Sequence[str], groups: Sequence[Group], format_value: Callable[[float], str]) -> str:
    """Bars as long as the medians, with a line from the least to the greatest of each."""
    longest = max((bar.spread.greatest for group in groups for bar in group.bars), default=1.0) or 1.0
    parts = [f'<text class="title" x="0" y="18">{escape(title)}</text>', *_legend(series)]
    y = _TOP
    for group in groups:
        height = len(group.bars) * (_BAR + _GAP)
        middle = y + height / 2 + 3
        parts.append(f'<text x="{_LABELS - 10}" y="{middle:.1f}" text-anchor="end">{escape(group.label)}</text>')
        for bar in group.bars:
            parts += _draw_bar(bar, y, _PLOT / longest, format_value)
            y += _BAR + _GAP
        y += _BETWEEN_GROUPS
    parts.append(f'<line class="axis" x1="{_LABELS}" y1="{_TOP - 4}" x2="{_LABELS}" y2="{y - _BETWEEN_GROUPS}"/>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" role="img" '
        f'aria-label="{escape(title)}">\n<style>\n{_STYLE}\n</style>\n{body}\n</svg>\n'
    )


def _legend(series: Sequence[str]) -> list[str]:
    parts, x = [], 0
    for place, name in enumerate(series):
        parts.append(f'<rect x="{x}" y="32" width="12" height="12" rx="2" fill="{_COLORS[place]}"/>')
        parts.append(f'<text x="{x + 17}" y="42">{escape(name)}</text>')
        x += 40 + 7 * len(name)
    return parts


def _draw_bar(bar: Bar, y: int, scale: float, format_value: Callable[[float], str]) -> list[str]:
    spread, middle = bar.spread, y + _BAR / 2
    length, least, greatest = (scale * value for value in (spread.median, spread.least, spread.greatest))
    color = _COLORS[bar.series]
    return [
        f'<rect x="{_LABELS}" y="{y}" width="{length:.1f}" height="{_BAR}" rx="2" fill="{color}"/>',
        f'<line class="spread" x1="{_LABELS + least:.1f}" y1="{middle}" x2="{_LABELS + greatest:.1f}" y2="{middle}"/>',
        (
            f'<text class="value" x="{_LABELS + greatest + 6:.1f}" y="{y + _BAR - 3}">'
            f"{escape(format_value(spread.median))}</text>"
        ),
    ]
