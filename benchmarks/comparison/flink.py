"""Flink as a cluster in the process of its SQL client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from benchmarks.harness.engine_jars import flink_jars
from benchmarks.harness.engines import HEAP, PARALLELISM, Command
from millstream.jvm.java import find_java

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FLINK_VERSION: Final = "2.2.0"
_SETTINGS: Final = {
    "execution.target": "local",
    "parallelism.default": str(PARALLELISM),
    "taskmanager.numberOfTaskSlots": str(PARALLELISM),
    "pipeline.object-reuse": "true",
    "execution.checkpointing.interval": "10 s",
    "table.local-time-zone": "UTC",
    "table.dml-sync": "true",
}
_MINI_BATCH: Final = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
}
_LOW_LATENCY: Final = {"execution.buffer-timeout.interval": "10 ms"}
_ROCKSDB: Final = {"execution.checkpointing.incremental": "true", "taskmanager.memory.managed.size": "1g"}
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


def flink_settings(backend: str, checkpoint: Path | None, *, mini_batch: bool) -> dict[str, str]:
    return {
        **_SETTINGS,
        "state.backend.type": backend,
        **(_ROCKSDB if backend == "rocksdb" else {}),
        **(_MINI_BATCH if mini_batch else _LOW_LATENCY),
        **({"execution.checkpointing.dir": checkpoint.as_uri()} if checkpoint else {}),
    }


def flink_command(script: str, folder: Path, settings: Mapping[str, str]) -> Command:
    (folder / "script.sql").write_text(script, encoding="utf-8")
    (folder / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))
    (folder / "log4j2.properties").write_text(_LOGGING)
    class_path = os.pathsep.join(map(str, flink_jars()))
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    logging = f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"
    java = [str(find_java().executable), f"-Xmx{HEAP}", *opened, logging, f"-Djava.io.tmpdir={folder}"]
    client = ["org.apache.flink.table.client.SqlClient", "embedded", "-f", str(folder / "script.sql")]
    return Command([*java, "-cp", class_path, *client], {"FLINK_CONF_DIR": str(folder)})
