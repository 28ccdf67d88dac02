"""Flink and Millstream, each as a process that runs one script from a cold start."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.harness.flink_jars import flink_jars
from millstream.jvm.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

PARALLELISM: Final = 2
_SECONDS_TO_STOP: Final = 60
_LINES_SHOWN: Final = 30

FLINK_SETTINGS: Final = {
    "execution.target": "local",
    "parallelism.default": str(PARALLELISM),
    "taskmanager.numberOfTaskSlots": str(PARALLELISM),
    "pipeline.object-reuse": "true",
    "state.backend.type": "hashmap",
    "execution.checkpointing.interval": "10 s",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
    "table.dml-sync": "true",
}
FLINK_JAVA: Final = ("-Xmx4g",)
# The packages that Flink's own configuration file opens for Java 17.
_OPENED: Final = (
    *("java.lang", "java.net", "java.io", "java.nio", "sun.nio.ch", "java.lang.reflect", "java.text", "java.time"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks"),
)
_LOGGING: Final = """\
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
appender.console.name = console
appender.console.type = CONSOLE
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1}: %m%n
"""


@dataclass(frozen=True, slots=True)
class Engine:
    name: str
    command: Callable[[Path, Path], tuple[list[str], Mapping[str, str]]]
    """From a script and a folder: the arguments of the process, and its additional environment variables."""

    @contextmanager
    def start(self, sql: str, folder: Path) -> Iterator[EngineRun]:
        folder.mkdir(parents=True)
        script = folder / "script.sql"
        script.write_text(sql, encoding="utf-8")
        arguments, environment = self.command(script, folder)
        log = folder / "engine.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                arguments,
                cwd=folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            yield EngineRun(self.name, process, log)
        finally:
            process.terminate()
            try:
                process.wait(_SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@dataclass(frozen=True, slots=True)
class EngineRun:
    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        if self.process.poll() is not None:
            sys.exit(f"{self.name} ended by itself; it said:\n{self.last_lines()}")

    def last_lines(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_LINES_SHOWN:])


def _flink(script: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    """A cluster in the process of its SQL client."""
    settings = {**FLINK_SETTINGS, "execution.checkpointing.dir": (folder / "checkpoints").as_uri()}
    (folder / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))
    (folder / "log4j2.properties").write_text(_LOGGING)
    class_path = os.pathsep.join(map(str, flink_jars()))
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    logging = f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"
    java = [str(find_java().executable), *FLINK_JAVA, *opened, logging, f"-Djava.io.tmpdir={folder}"]
    client = ["org.apache.flink.table.client.SqlClient", "embedded", "-f", str(script)]
    return [*java, "-cp", class_path, *client], {"FLINK_CONF_DIR": str(folder)}


def _millstream(script: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    command = [sys.executable, "-m", "millstream.cli.main", "run", str(script)]
    return [*command, "--checkpoint", str(folder / "checkpoint"), "--set", f"parallelism.default={PARALLELISM}"], {}


FLINK: Final = Engine("Flink", _flink)
MILLSTREAM: Final = Engine("Millstream", _millstream)
