"""A JSON path as Flink writes it, and as Spark reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_MODE: Final = re.compile(r"\s*(?:(strict|lax)\s+)?\$(.*)", re.DOTALL | re.IGNORECASE)
_STEP: Final = re.compile(
    r"""\.?\[\s*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<index>\d+))\s*\]|\.(?P<name>[^.\[\]\s*?()@'"]+)"""
)


@dataclass(frozen=True, slots=True)
class JsonPath:
    steps: tuple[str | int, ...]
    is_strict: bool

    @property
    def spark(self) -> str:
        return "$" + "".join(f"[{step}]" if isinstance(step, int) else f"['{step}']" for step in self.steps)


def read_json_path(text: str) -> JsonPath | None:
    """None for what only Flink can follow: wildcards, filters, functions."""
    found = _MODE.fullmatch(text)
    if found is None:
        return None
    mode, rest = found.groups()
    steps: list[str | int] = []
    at = 0
    while at < len(rest):
        step = _STEP.match(rest, at)
        if step is None:
            return None
        name = next((step[kind] for kind in ("single", "double", "name") if step[kind] is not None), None)
        steps.append(int(step["index"]) if name is None else name)
        at = step.end()
    return JsonPath(tuple(steps), (mode or "strict").lower() == "strict")
