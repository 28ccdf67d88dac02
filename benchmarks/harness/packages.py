"""Installs Python packages for other systems into the cache folder, never into this environment."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class MissingError(Exception):
    """Something that a benchmark needs could not be had."""


def install(arguments: Sequence[str], python: str = sys.executable) -> None:
    """Only pip itself, or uv, knows where this machine gets its packages from."""
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", "--python", python]
        target: list[str] = []
    elif shutil.which("uv"):
        command, target = ["uv", "pip"], ["--python", python]
    else:
        raise MissingError("pip or uv is needed to download packages; neither is here")
    done = subprocess.run(
        [*command, "install", "--quiet", *target, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MissingError(f"could not install {' '.join(arguments)}:\n{done.stderr.strip()}")
