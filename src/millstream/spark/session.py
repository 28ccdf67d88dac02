"""The Spark session that jobs run in: our own, or one that the user passes."""

from __future__ import annotations

import os
import shlex
import signal
import string
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, Final

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from millstream.catalog.secrets import JAVA_PATTERN, without_secrets_of
from millstream.errors import Code, Diagnostic, SetupError
from millstream.jvm.java import find_java
from millstream.jvm.java_home import java_home
from millstream.jvm.parts import Part, jars
from millstream.jvm.shared_classes import shared_classes
from millstream.spark.job_errors import in_short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from millstream.catalog.job_settings import JobSettings

_NEEDED_CLASSES: Final = {
    "org.apache.spark.sql.kafka010.KafkaSourceProvider": "spark-sql-kafka-0-10_2.13",
    "org.apache.kafka.clients.consumer.KafkaConsumer": "kafka-clients",
}

STREAMING: Final = {
    "spark.sql.streaming.minBatchesToRetain": "10",
    # Spark's default starts about ten processes (chmod, readlink) for each file of a checkpoint, this one two.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.stopTimeout": "15s",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    # As in Flink: the last value of a key counts, any charset of Java's will do, and what it lacks is replaced.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.legacy.codingErrorAction": "true",
    # Passing data to Python has a fixed cost per Arrow batch; these two make batches large.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    # Plans show the options of sources and sinks, in errors, logs and the user interface.
    "spark.sql.redaction.options.regex": JAVA_PATTERN,
    # Rows must reach the same task again when a batch is repeated.
    "spark.sql.adaptive.enabled": "false",
}
"""What every job needs, and what can be set on a running session."""

_SPARKS_OWN_PARTITIONS: Final = "200"
_JAVA_CHATTER: Final = ("Picked up ", "NOTE: Picked up ", "WARNING: ")
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_JVM_END_SECONDS: Final = 60
_JVM_END_SOON_SECONDS: Final = 3
"""A consumer leaves its group when it closes, which takes half a minute if the broker does not respond."""
_LAUNCH: Final = {
    "spark.redaction.regex": JAVA_PATTERN,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "millstream.spark.worker_daemon",
}
_WITHOUT_INTERFACE: Final = {
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
}
"""Spark keeps finished jobs, stages and plans for its web UI, even if that is disabled: 3 MB per 100 batches."""
_QUICK_COMPILER_ONLY: Final = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""Where Spark works on no row: compiling takes less, and what it takes longer is planning. See ADR 26.

Compiled code has as much room as with both compilers; by itself, Java would leave it a fifth of that.
"""
_COMPILER_OPTIONS: Final = (
    "-XX:Tier4InvocationThreshold=100000",
    "-XX:Tier4MinInvocationThreshold=20000",
    "-XX:Tier4CompileThreshold=200000",
    "-XX:Tier4BackEdgeThreshold=800000",
)
"""Most rows are in Python, so little of the JVM's code runs often enough to be worth its slowest compiler.

With Java's own thresholds, that compiler takes 16 of the first 40 core-seconds of a job.
"""
_ON_THIS_MACHINE: Final = {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}
_SUBMIT_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
_PLAIN_IN_PROPERTIES: Final = frozenset(f"{string.ascii_letters}{string.digits}./_-,")
_NOT_OURS: Final = ("SPARK_HOME", "SPARK_REMOTE", _SUBMIT_ARGUMENTS)
"""These belong to another Spark installation of the user: ours would start that one, or fail to start."""


class OwnedSession:
    """A Spark session that is started here with everything it needs; `close` leaves nothing of it behind.

    Spark's log goes to `log`. The JVM holds `lock` for as long as it lives. It is tuned for jobs whose rows stay in
    Python if there are to be no others.
    """

    def __init__(
        self,
        settings: JobSettings,
        parallelism: int,
        master: str | None,
        log: Path,
        notice: Callable[[str], None],
        *,
        lock: IO[str] | None = None,
        keeps_rows_in_python: bool = False,
    ) -> None:
        if SparkContext._active_spark_context is not None:  # noqa: SLF001
            raise SetupError(
                Diagnostic(
                    Code.SPARK_ALREADY_RUNNING,
                    "a Spark session is already running in this process",
                    hint="Pass it: Session(spark).",
                )
            )
        java = find_java()
        self._warm_up: threading.Thread | None = None
        self._notice = notice
        self._compiler = _QUICK_COMPILER_ONLY if keeps_rows_in_python else _COMPILER_OPTIONS
        self._classes = shared_classes(java, Path(pyspark.__file__).parent)
        master = dict(settings.spark).get("spark.master") or master or f"local[{parallelism}]"
        configuration = {
            **STREAMING,
            **_LAUNCH,
            **({} if ("spark.ui.enabled", "true") in settings.spark else _WITHOUT_INTERFACE),
            **(_ON_THIS_MACHINE if master.startswith("local") else {}),
            "spark.master": master,
            "spark.app.name": settings.pipeline_name or "millstream",
            **({} if keeps_rows_in_python else {"spark.jars": ",".join(map(str, jars(Part.SPARK, notice)))}),
            "spark.sql.shuffle.partitions": str(parallelism),
            "spark.executorEnv.POLARS_MAX_THREADS": "1",  # Spark already runs one worker per core
            **dict(settings.spark),
        }
        is_here = master == "local" or master.startswith("local[")  # executors elsewhere need Spark's installation
        try:
            with (
                java_home(java.executable, hides_spark=is_here) as home,
                _environment(JAVA_HOME=home, PYSPARK_PYTHON=sys.executable),
                _defer_signals(),
            ):
                self.spark = self._start(configuration, log, lock)
        except KeyboardInterrupt:
            self.close()
            raise
        self._warm_up = threading.Thread(target=_start_workers, args=(self.spark,), daemon=True)
        self._warm_up.start()

    def close(self, *, soon: bool = False) -> None:
        """Stops Spark and its JVM, and waits for both; `soon` if Spark's clients wait for an unavailable broker."""
        gateway = SparkContext._gateway  # noqa: SLF001
        with suppress(Py4JError, OSError):  # a killed JVM cannot be asked to stop
            self.spark.stop()
        if gateway is None:
            return
        if self._warm_up is not None:
            self._warm_up.join(_JVM_END_SOON_SECONDS)  # or it would complain that nobody answers
        with suppress(Py4JError, OSError):
            gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001
        jvm: subprocess.Popen[bytes] = gateway.proc
        assert jvm.stdin is not None
        if self._classes.is_being_made:
            self._notice("caching Spark's classes for faster starts (once)")
        with suppress(OSError):
            jvm.stdin.close()
        try:
            jvm.wait(_JVM_END_SOON_SECONDS if soon else _JVM_END_SECONDS)
            self._classes.keep()
        except subprocess.TimeoutExpired:
            jvm.kill()
            jvm.wait()

    def _start(self, configuration: dict[str, str], log: Path, lock: IO[str] | None) -> SparkSession:
        options = [
            f"-Dlog4j2.configurationFile={_configure_log(log)}",
            self._classes.java_option,
            *self._compiler,
        ]
        ours = [f'"{option}"' for option in options if option]  # a path may contain spaces
        configuration[_JAVA_OPTIONS] = " ".join([*ours, configuration.get(_JAVA_OPTIONS, "")]).strip()
        spark_conf = SparkConf().setAll(list(configuration.items()))
        printed = log.with_suffix(".out")
        before = printed.stat().st_size if printed.exists() else 0
        try:
            with printed.open("ab") as output:
                inherited = (lock.fileno(),) if lock else ()
                # In a process session of its own, so that a signal to our process group does not reach it.
                launch = {"stdout": output, "stderr": output, "pass_fds": inherited, "start_new_session": True}
                with _submit_arguments(configuration):
                    SparkContext._ensure_initialized(gateway=launch_gateway(None, launch))  # noqa: SLF001
            spark = SparkSession.builder.config(conf=spark_conf).getOrCreate()
        except Exception as error:
            output_now = printed.read_bytes()[before:].decode(errors="replace")
            detail = in_short(without_secrets_of((), _java_error(output_now) or str(error), configuration.items()))
            raise SetupError(
                Diagnostic(
                    Code.SPARK_NOT_STARTED,
                    "Spark did not start",
                    detail=f"{detail.rstrip('.')}.",
                    hint=f"Check the settings under 'spark.'. What Spark said is in {log} and {printed}.",
                )
            ) from error
        _silence_counters(spark)
        return spark


def _start_workers(spark: SparkSession) -> None:
    """Starts the process that workers are forked from while the first job is being prepared: saves a second."""
    with suppress(Exception):  # a job that needs workers will tell what is wrong with them
        spark.range(0, 1, 1, 1).mapInArrow(_pass_on, "id BIGINT").write.format("noop").mode("overwrite").save()


def _pass_on(batches: Iterator[Any]) -> Iterator[Any]:
    return batches


def _silence_counters(spark: SparkSession) -> None:
    """The jobs report that the JVM was killed; the thread that collects counters need not print a traceback as well."""
    server: Any = spark.sparkContext._accumulatorServer  # noqa: SLF001
    printed = server.handle_error

    def handle_error(request: object, address: object) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            printed(request, address)

    server.handle_error = handle_error


def _java_error(printed: str) -> str | None:
    """The output of a JVM that refuses to start: the reason, then that it could not be created."""
    before, failed, _ = printed.partition("Error: Could not create the Java Virtual Machine")
    reasons = [line for line in before.splitlines() if line and not line.startswith(_JAVA_CHATTER)]
    return reasons[-1] if failed and reasons else None


@contextmanager
def _defer_signals() -> Iterator[None]:
    """Delays Ctrl-C and SIGTERM until Spark's JVM can be stopped: otherwise a half-started one would be left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda n, _: came.append(n)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


@contextmanager
def _submit_arguments(configuration: Mapping[str, str]) -> Iterator[None]:
    """The configuration, in a file that only we can read: everybody can see the command line of a JVM."""
    with TemporaryDirectory(prefix="millstream-spark-") as private:
        file = Path(private) / "spark.properties"
        file.touch(mode=0o600)
        file.write_text(
            "".join(f"{_in_properties(key)}={_in_properties(value)}\n" for key, value in configuration.items())
        )
        arguments = ("--properties-file", str(file), "--load-spark-defaults", "pyspark-shell")
        os.environ[_SUBMIT_ARGUMENTS] = shlex.join(arguments)
        try:
            yield
        finally:
            del os.environ[_SUBMIT_ARGUMENTS]


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """The environment while Spark starts; the user's is restored afterwards."""
    before = dict(os.environ)
    for name in _NOT_OURS:
        os.environ.pop(name, None)
    os.environ.update(variables, POLARS_MAX_THREADS="1")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def adopt_session(spark: SparkSession, parallelism: int | None) -> SparkSession:
    """A new session of the user's Spark, with our settings and the same executors; the user's own is unchanged."""
    if not isinstance(spark, SparkSession):
        raise SetupError(
            Diagnostic(
                Code.SPARK_SESSION_INCOMPLETE,
                "the given session is one of Spark Connect, which has no JVM to run jobs in",
                hint="Give a session made with SparkSession.builder.master(…), or let Session() start its own.",
            )
        )
    missing = [artifact for name, artifact in _NEEDED_CLASSES.items() if not _has_class(spark, name)]
    if missing:
        version = spark.version
        raise SetupError(
            Diagnostic(
                Code.SPARK_SESSION_INCOMPLETE,
                f"the given SparkSession lacks {', '.join(missing)}",
                detail=f"It runs Spark {version}; the classes of these artifacts are not on its class path.",
                hint=(
                    f"Start it with 'spark.jars.packages' = 'org.apache.spark:spark-sql-kafka-0-10_2.13:{version}', "
                    "or let Session() start its own."
                ),
            )
        )
    sibling = spark.newSession()
    for key, value in STREAMING.items():
        sibling.conf.set(key, value)
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    if parallelism is not None or partitions == _SPARKS_OWN_PARTITIONS:
        chosen = parallelism or spark.sparkContext.defaultParallelism
        sibling.conf.set("spark.sql.shuffle.partitions", str(chosen))
    return sibling


def _has_class(spark: SparkSession, name: str) -> bool:
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    try:
        jvm.org.apache.spark.util.Utils.classForName(name, False, False)
    except Py4JJavaError:
        return False
    return True


def _configure_log(log: Path) -> str:
    log.parent.mkdir(parents=True, exist_ok=True)
    configuration = log.with_suffix(".log4j2.properties")
    configuration.write_text(
        "\n".join(
            (
                "rootLogger.level = warn",
                "rootLogger.appenderRef.file.ref = file",
                "appender.file.type = RollingFile",
                "appender.file.name = file",
                f"appender.file.fileName = {_in_properties(str(log))}",
                f"appender.file.filePattern = {_in_properties(str(log))}.%i",
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


def _in_properties(text: str) -> str:
    """Escapes everything that has a meaning in a Java properties file."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(code) if chr(code) in _PLAIN_IN_PROPERTIES else f"\\u{code:04x}" for code in codes)
