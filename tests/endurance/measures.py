"""Measures the resources of a running job, from the operating system: `{"JVM: open files": 246, …}`."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.jvm.java import find_java
from tests.faults.processes import jvm_of, processes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Sample = dict[str, int]
    """The value of each measure by name."""

_MARKS: Final = {"worker": "-m millstream.spark.worker_daemon", "delivery": "-m millstream.delivery.process"}
_ESTABLISHED: Final = "01"
_SPARKS: Final = ("offsets", "commits", "state", "sources", "metadata")
_MONITOR: Final = "Worker Monitor"
"""Spark starts such a thread for each task, and it sleeps for two seconds before it ends."""
_MAPPING: Final = re.compile(r"([0-9a-f]+)-[0-9a-f]+ ")
_ADDRESS: Final = re.compile(r"0x([0-9a-f]+)")
_TOTAL: Final = re.compile(r"^Total\s+\d+\s+(\d+)", re.MULTILINE)


def sample(driver: int, port: int, checkpoint: Path, temporary: Path) -> Sample:
    """Of several processes with the same role, the one that holds most. `port` is the broker's."""
    found: Sample = {}
    for role, members in _roles(driver).items():
        found[f"{role}: processes"] = len(members)
        found[f"{role}: open files"] = max(map(_open_files, members))
        found[f"{role}: threads"] = max(map(_threads, members))
        found[f"{role}: memory, MB"] = max(map(_memory, members)) // 1024
        found[f"{role}: connections to Kafka"] = sum(_connections(member, port) for member in members)
    for place, files in (("checkpoint, Spark's", _spark_files(checkpoint)), ("checkpoint, own", _own(checkpoint))):
        listed = list(files)
        found[f"{place}: files"] = len(listed)
        found[f"{place}: KB"] = sum(map(_size, listed)) // 1024
    found["temporary: files"] = len(list(_files(temporary)))
    return found


def live_heap(driver: int) -> Sample:
    """The live objects in the JVM's heap; measuring them collects garbage first."""
    jvm = jvm_of(driver, processes())
    total = None if jvm is None else _TOTAL.search(_ask_jvm(jvm, "GC.class_histogram"))
    return {"JVM: live heap, MB": int(total[1]) >> 20} if total else {}


def _ask_jvm(process: int, command: str) -> str:
    """Empty if it is no JVM, or the Java here has no tools."""
    jcmd = find_java().executable.with_name("jcmd")
    if not jcmd.exists():
        return ""
    return subprocess.run([jcmd, str(process), command], capture_output=True, text=True, check=False).stdout


def _roles(driver: int) -> dict[str, list[int]]:
    running = processes()
    jvm = jvm_of(driver, running)
    roles = defaultdict(list, {"driver": [driver]})
    for each in running:
        if each.pid == jvm:
            roles["JVM"].append(each.pid)
        elif each.session == jvm:
            role = next((role for role, mark in _MARKS.items() if mark in each.command), "other")
            roles[role].append(each.pid)
    return dict(roles)


def workers_of(driver: int) -> list[int]:
    """The processes of Spark's that run Python."""
    return _roles(driver).get("worker", [])


def _open_files(process: int) -> int:
    with suppress(OSError):  # it has just ended
        return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
    return 0


def _threads(process: int) -> int:
    """Those that stay: how many monitors there are tells how fast batches follow each other."""
    with suppress(OSError):
        return sum(not _name(thread).startswith(_MONITOR) for thread in Path(f"/proc/{process}/task").iterdir())
    return 0


def _name(thread: Path) -> str:
    with suppress(OSError):
        return (thread / "comm").read_text()
    return _MONITOR


def _memory(process: int) -> int:
    """In KB, without the heap of a JVM: how much of that is in use depends on when garbage was last collected."""
    total, is_counted = 0, True
    with suppress(OSError):  # it has just ended
        heap = _heap_of(process) if "java" in Path(f"/proc/{process}/comm").read_text() else range(0)
        for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
            if mapping := _MAPPING.match(line):
                is_counted = int(mapping[1], 16) not in heap
            elif is_counted and line.startswith("Rss:"):
                total += int(line.split()[1])
    return total


@cache
def _heap_of(jvm: int) -> range:
    """The addresses that are reserved for it."""
    places = [int(place, 16) for place in _ADDRESS.findall(_ask_jvm(jvm, "GC.heap_info"))]
    return range(min(places, default=0), max(places, default=0))


def _connections(process: int, port: int) -> int:
    """The process's own established TCP connections to `port`."""
    inodes = set()
    with suppress(OSError):
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                inodes.add(str(descriptor.readlink()))
    return sum(f"socket:[{inode}]" in inodes for inode in _sockets_to(port))


def _sockets_to(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _ESTABLISHED and int(fields[2].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _spark_files(checkpoint: Path) -> Iterator[Path]:
    jobs = checkpoint / "jobs"
    for job in jobs.iterdir() if jobs.exists() else ():
        for name in _SPARKS:
            yield from _files(job / name)


def _own(checkpoint: Path) -> Iterator[Path]:
    sparks = set(_spark_files(checkpoint))
    return (path for path in _files(checkpoint) if path not in sparks)


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
    for place, _, names in os.walk(folder):
        yield from (Path(place) / name for name in names)


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def least(samples: Iterable[Sample]) -> Sample:
    """The minimum of several samples: the current batch holds more, and releases it again."""
    found: Sample = {}
    for each in samples:
        for name, value in each.items():
            found[name] = min(value, found.get(name, value))
    return found
