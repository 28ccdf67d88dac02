"""The Spark session a job runs in: our own, or one the user brings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from millstream.catalog.settings import PIPELINE_NAME
from millstream.errors import Code, Diagnostic, SetupError
from millstream.jvm.java import find_java
from millstream.jvm.parts import Part, jars
from millstream.jvm.shared_classes import shared_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
_NEEDED_CLASSES: Final = {
    "org.apache.spark.sql.kafka010.KafkaSourceProvider": "spark-sql-kafka-0-10_2.13",
    "org.apache.kafka.clients.consumer.KafkaConsumer": "kafka-clients",
    "org.apache.spark.sql.avro.CatalystDataToAvro": "spark-avro_2.13",
}

STREAMING: Final = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    # A crossing to Python has a fixed price per Arrow batch; these two make batches large.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    # Rows must meet the same task again when a batch is replayed.
    "spark.sql.adaptive.enabled": "false",
}
"""What every job needs, settable on a running session."""

_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_JVM_END_SECONDS: Final = 60
_LAUNCH: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "millstream.spark.worker_daemon",
}


class OwnedSession:
    """A Spark session started here, with everything on board; `close` leaves nothing of it behind.

    `log` takes what Spark has to say.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        parallelism: int,
        master: str | None,
        log: Path,
        notice: Callable[[str], None],
    ) -> None:
        java = find_java()
        os.environ["JAVA_HOME"] = str(java.executable.parent.parent)
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("POLARS_MAX_THREADS", "1")  # Spark runs one worker per core already
        self._notice = notice
        self._classes = shared_classes(java, Path(pyspark.__file__).parent)
        self.spark = self._start(
            {
                **STREAMING,
                **_LAUNCH,
                "spark.master": master or f"local[{parallelism}]",
                "spark.app.name": settings.get(PIPELINE_NAME.key, "millstream"),
                "spark.jars": ",".join(str(jar) for jar in jars(Part.SPARK, notice)),
                "spark.sql.shuffle.partitions": str(parallelism),
                **{key: value for key, value in settings.items() if key.startswith("spark.")},
            },
            log,
        )

    def close(self) -> None:
        """Stops Spark and its JVM, and waits for both."""
        self.spark.stop()
        gateway = SparkContext._gateway  # noqa: SLF001
        if gateway is None:
            return
        gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
        jvm: subprocess.Popen[bytes] = gateway.proc
        assert jvm.stdin is not None
        if self._classes.is_being_made:
            self._notice("keeping Spark's classes for quicker starts (once)")
        jvm.stdin.close()
        try:
            jvm.wait(_JVM_END_SECONDS)
            self._classes.keep()
        except subprocess.TimeoutExpired:
            jvm.kill()
            jvm.wait()

    def _start(self, configuration: dict[str, str], log: Path) -> SparkSession:
        options = [f"-Dlog4j2.configurationFile={_logging_to(log)}", self._classes.java_option]
        options.append(configuration.get(_JAVA_OPTIONS))
        configuration[_JAVA_OPTIONS] = " ".join(option for option in options if option)
        spark_conf = SparkConf().setAll(list(configuration.items()))
        try:
            if SparkContext._gateway is None:  # noqa: SLF001
                with log.with_suffix(".out").open("ab") as output:
                    gateway = launch_gateway(spark_conf, {"stdout": output, "stderr": output})
                SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001
            return SparkSession.builder.config(conf=spark_conf).getOrCreate()
        except Exception as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise SetupError(
                Diagnostic(
                    Code.SPARK_NOT_STARTED,
                    "Spark did not start",
                    detail=reason[0],
                    hint=f"Its log is {log}, its output {log.with_suffix('.out')}.",
                )
            ) from error


def adopt_session(spark: SparkSession, parallelism: int | None) -> SparkSession:
    """A sibling of the user's session, with our settings and their executors; theirs stays as it is."""
    missing = [artifact for name, artifact in _NEEDED_CLASSES.items() if not _has_class(spark, name)]
    if missing:
        version = spark.version
        raise SetupError(
            Diagnostic(
                Code.SPARK_SESSION_INCOMPLETE,
                f"the given SparkSession lacks {', '.join(missing)}",
                detail=f"It runs Spark {version}; the classes of these artifacts are not on its class path.",
                hint=(
                    f"Start it with 'spark.jars.packages' = 'org.apache.spark:spark-sql-kafka-0-10_2.13:{version},"
                    f"org.apache.spark:spark-avro_2.13:{version}', or let Session() start its own."
                ),
            )
        )
    sibling = spark.newSession()
    for key, value in STREAMING.items():
        sibling.conf.set(key, value)
    if parallelism is not None:
        sibling.conf.set("spark.sql.shuffle.partitions", str(parallelism))
    return sibling


def _has_class(spark: SparkSession, name: str) -> bool:
    from py4j.protocol import Py4JJavaError

    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    try:
        jvm.org.apache.spark.util.Utils.classForName(name, False, False)
    except Py4JJavaError:
        return False
    return True


def _logging_to(log: Path) -> str:
    log.parent.mkdir(parents=True, exist_ok=True)
    configuration = log.with_suffix(".log4j2.properties")
    configuration.write_text(
        "\n".join(
            (
                "rootLogger.level = warn",
                "rootLogger.appenderRef.file.ref = file",
                "appender.file.type = RollingFile",
                "appender.file.name = file",
                f"appender.file.fileName = {log}",
                f"appender.file.filePattern = {log}.%i",
                "appender.file.layout.type = PatternLayout",
                "appender.file.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p %c{1}: %m%n%ex",
                "appender.file.policies.type = Policies",
                "appender.file.policies.size.type = SizeBasedTriggeringPolicy",
                "appender.file.policies.size.size = 10MB",
                "appender.file.strategy.type = DefaultRolloverStrategy",
                "appender.file.strategy.max = 3",
            )
        )
        + "\n"
    )
    return str(configuration)
