"""Pathway in an environment of its own, made once."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

from benchmarks.harness.packages import MissingError, install
from millstream.jvm.parts import cache_folder

if TYPE_CHECKING:
    from pathlib import Path

PATHWAY_VERSION: Final = "0.33.0"


def pathway_python() -> Path:
    """The interpreter of the environment; the first call on a machine downloads about 1.4 GB."""
    folder = cache_folder() / f"pathway-{PATHWAY_VERSION}"
    ready = folder / "ready"
    if not ready.exists():
        print(f"Pathway {PATHWAY_VERSION}, about 1.4 GB, once, into {folder}", flush=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(
            [sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise MissingError(f"no environment for Pathway could be made:\n{made.stdout}{made.stderr}")
        install([f"pathway=={PATHWAY_VERSION}"], str(folder / "bin" / "python"))
        ready.touch()
    return folder / "bin" / "python"
