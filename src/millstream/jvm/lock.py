"""Re-create jars.sha256 after a change in ivy.xml: python -m millstream.jvm.lock."""

from __future__ import annotations

import tempfile
from pathlib import Path

from millstream.jvm.declaration import LOCK_FILE, LockedJar, Part, read_locked_jars
from millstream.jvm.ivy import resolve

_HEADER = "# Written by: python -m millstream.jvm.lock\n# sha256, bytes, part/file\n"


def main() -> None:
    lines = [str(jar) for part in Part for jar in _resolve(part)]
    LOCK_FILE.write_text(_HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} jars locked in {LOCK_FILE}")


def _resolve(part: Part) -> list[LockedJar]:
    with tempfile.TemporaryDirectory() as work:
        resolved = resolve(part, Path(work), notice=print, expected=len(read_locked_jars(part)))
        return [LockedJar.of_file(part, jar) for jar in sorted(resolved.iterdir())]


if __name__ == "__main__":
    main()
