"""Checks the arguments of a session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.catalog.settings import SETTINGS, check_setting

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """`parallelism_default=2` is `'parallelism.default' = '2'`; keys with dots are taken as they are."""
    by_python_name = {key.replace(".", "_").replace("-", "_"): key for key in SETTINGS}
    named = {by_python_name.get(key, key): str(value) for key, value in settings.items()}
    for key, value in named.items():
        check_setting(key, value)
    return named


def default_checkpoint() -> Path:
    program = Path(sys.argv[0]).stem if sys.argv and sys.argv[0] else ""
    return Path(".millstream") / (program or "session")
