"""Settings of Flink and of earlier versions that do not change results: accepted, with the reason in a notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from millstream.catalog.durations import duration
from millstream.catalog.options import OptionType, at_least, boolean, long_integer

_ANYTHING: Final = OptionType("STRING", str)


@dataclass(frozen=True, slots=True)
class WithoutEffect:
    key: str
    """One setting, or all that begin so if it ends with a `*`."""
    because: str
    type: OptionType[Any] = _ANYTHING
    happens_anyway: str | None = None
    """The value that describes what happens anyway: no notice is given for it."""

    def matches(self, key: str) -> bool:
        return key.startswith(self.key[:-1]) if self.key.endswith("*") else key == self.key


_BATCHES: Final = "a job works in batches already; 'millstream.batch.interval-ms' and '.max-rows' set their size"
_CHECKPOINTS: Final = "every batch is a checkpoint; 'millstream.batch.interval-ms' sets their pace"
_OWN_CHECKPOINT: Final = (
    "Flink's savepoints cannot be read; a job continues from its own checkpoint, or starts over if it has none"
)
_ONE_WATERMARK: Final = "the watermark moves on once per batch, after its last row"
_NO_ALIGNMENT: Final = "all sources of a job read the same batch, so none runs ahead"
_TASKS: Final = "'parallelism.default' sets the tasks of a job"
_ONE_PLAN: Final = "a job is planned again from its script"
_ONE_CATALOG: Final = "catalogs are in memory, and last as long as the script"
_NO_CLASSES: Final = "no Java class of the user's is loaded"
_PYTHON_PATH: Final = "Python modules are found beside the script and on the Python path"
_NO_LOOKUPS: Final = "tables that rows are looked up in are in memory"
_NO_JOINS: Final = "there are only regular joins yet"
_NO_OVER: Final = "there is no OVER by time yet"
_NO_RANK_CACHE: Final = "the first rows of each group are kept as state, not in a cache"
_ONE_CHANGE: Final = "a batch changes the row of a key once"
_SPARKS_MEMORY: Final = "Spark manages memory; its settings begin with 'spark.'"
_NO_CLUSTER: Final = "there is no Flink cluster; Spark's settings begin with 'spark.'"
_SPARKS_FILES: Final = "files are opened by Spark; its settings for them begin with 'spark.hadoop.'"
_SHOWN: Final = "rows and errors are always shown in the same way"

WITHOUT_EFFECT: Final = (
    WithoutEffect("execution.checkpointing.interval", _CHECKPOINTS, duration),
    WithoutEffect("execution.checkpointing.*", _CHECKPOINTS),
    WithoutEffect("execution.savepoint.*", _OWN_CHECKPOINT),
    WithoutEffect("execution.savepoint-restore-mode", _OWN_CHECKPOINT),
    WithoutEffect("execution.state-recovery.*", _OWN_CHECKPOINT),
    WithoutEffect("execution.buffer-timeout*", _BATCHES),
    WithoutEffect("execution.batch*", "jobs run as streams"),
    WithoutEffect("execution.sorted-inputs.*", "jobs run as streams"),
    WithoutEffect("execution.target", _NO_CLUSTER),
    WithoutEffect("execution.attached", "the command stays as long as its jobs run", boolean),
    WithoutEffect("execution.shutdown-on-*", "jobs end with the command that started them"),
    WithoutEffect("execution.job-*", _NO_CLASSES),
    WithoutEffect("state.*", "state is kept in the checkpoint folder"),
    WithoutEffect("millstream.state.cache-bytes", "state is mapped from the checkpoint folder"),
    WithoutEffect("millstream.aggregate.native", "every aggregate runs on the kernel", happens_anyway="never"),
    WithoutEffect("pipeline.auto-watermark-interval", _ONE_WATERMARK, duration),
    WithoutEffect("pipeline.watermark-alignment.*", _NO_ALIGNMENT),
    WithoutEffect("pipeline.object-reuse", "rows travel in Arrow batches", boolean),
    WithoutEffect("pipeline.operator-chaining*", "Spark decides which steps run in one task"),
    WithoutEffect("pipeline.max-parallelism", "'millstream.state.buckets' bounds the tasks that share a state"),
    WithoutEffect("pipeline.jobvertex-parallelism-overrides", _TASKS),
    WithoutEffect("pipeline.vertex-*", _ONE_PLAN),
    WithoutEffect("pipeline.jars", _NO_CLASSES),
    WithoutEffect("pipeline.classpaths", _NO_CLASSES),
    WithoutEffect("pipeline.cached-files", "functions open files by their paths"),
    WithoutEffect("pipeline.global-job-parameters", "functions receive only their arguments"),
    WithoutEffect("pipeline.closure-cleaner-level", _NO_CLASSES),
    WithoutEffect("pipeline.serialization-config", _NO_CLASSES),
    WithoutEffect("pipeline.registered-*", _NO_CLASSES),
    WithoutEffect("pipeline.default-kryo-serializers", _NO_CLASSES),
    WithoutEffect("pipeline.force-*", _NO_CLASSES),
    WithoutEffect("pipeline.generic-types", _NO_CLASSES),
    WithoutEffect("table.dml-sync", "a statement waits for those before it that end by themselves", boolean),
    WithoutEffect("table.dynamic-table-options.enabled", "hints are always read", boolean, happens_anyway="true"),
    WithoutEffect("table.display.*", _SHOWN),
    WithoutEffect("table.optimizer.*", "plans are optimised by other rules here"),
    WithoutEffect("table.plan.*", _ONE_PLAN),
    WithoutEffect("table.generated-code.*", "Spark generates the code of a job"),
    WithoutEffect("table.resources.*", _NO_CLASSES),
    WithoutEffect("table.rtas-ctas.*", "there is no CREATE TABLE AS yet"),
    WithoutEffect("table.catalog-modification.*", _ONE_CATALOG),
    WithoutEffect("table.catalog-store.*", _ONE_CATALOG),
    WithoutEffect("table.exec.mini-batch.enabled", _BATCHES, boolean),
    WithoutEffect("table.exec.mini-batch.allow-latency", _BATCHES, duration),
    WithoutEffect("table.exec.mini-batch.size", _BATCHES, at_least(-1, long_integer)),
    WithoutEffect("table.exec.sink.keyed-shuffle", "the changes of a row always leave from one task, in their order"),
    WithoutEffect("table.exec.sink.rowtime-inserter", "a message has the time of its METADATA column 'timestamp'"),
    WithoutEffect("table.exec.sink.upsert-materialize-strategy.*", "rows before a sink are kept in one way"),
    WithoutEffect("table.exec.resource.*", _TASKS),
    WithoutEffect("table.exec.uid.*", _ONE_PLAN),
    WithoutEffect("table.exec.legacy-transformation-uids", _ONE_PLAN),
    WithoutEffect("table.exec.simplify-operator-name-enabled", _ONE_PLAN),
    WithoutEffect("table.exec.operator-fusion-codegen.enabled", _ONE_PLAN),
    WithoutEffect("table.exec.disabled-operators", _ONE_PLAN),
    WithoutEffect("table.exec.shuffle-mode", "jobs run as streams"),
    WithoutEffect("table.exec.sort.*", _SPARKS_MEMORY),
    WithoutEffect("table.exec.spill-compression.*", _SPARKS_MEMORY),
    WithoutEffect("table.exec.local-hash-agg.*", _SPARKS_MEMORY),
    WithoutEffect("table.exec.async-state.enabled", "state is kept in the checkpoint folder"),
    WithoutEffect("table.exec.async-lookup.*", _NO_LOOKUPS),
    WithoutEffect("table.exec.async-*", "functions in Python are called in batches"),
    WithoutEffect("table.exec.interval-join.*", _NO_JOINS),
    WithoutEffect("table.exec.delta-join.*", _NO_JOINS),
    WithoutEffect("table.exec.window-agg.*", "rows of windows are kept as state, and combined in each batch"),
    WithoutEffect("table.exec.emit.*", "a window gives its result once"),
    WithoutEffect("table.exec.unbounded-over.*", _NO_OVER),
    WithoutEffect("table.exec.rank.*", _NO_RANK_CACHE),
    WithoutEffect("table.exec.deduplicate.*", _ONE_CHANGE),
    WithoutEffect("table.exec.hive.*", "there is no connector to Hive"),
    WithoutEffect("python.files", _PYTHON_PATH),
    WithoutEffect("python.archives", _PYTHON_PATH),
    WithoutEffect("python.requirements", "packages are those of the Python that runs the command"),
    WithoutEffect("python.*", "functions run in the Python that runs the command"),
    WithoutEffect("sql-client.*", _SHOWN),
    WithoutEffect("sql-gateway.*", "there is no SQL gateway"),
    WithoutEffect("taskmanager.*", "there are no task managers; Spark's settings begin with 'spark.'"),
    WithoutEffect("jobmanager.*", "there is no job manager; Spark's settings begin with 'spark.'"),
    WithoutEffect("metrics.*", "progress is reported by `run --output json`; Spark's settings begin with 'spark.'"),
    WithoutEffect("security.*", "logins to Kafka are 'properties.' of its tables"),
    *(
        WithoutEffect(f"{family}*", _NO_CLUSTER)
        for family in (
            "akka.", "blob.", "classloader.", "client.", "cluster.", "containerized.", "deployment.", "env.",
            "external-resource", "heartbeat.", "high-availability", "historyserver.", "io.", "job-event.",
            "job-result-store.", "jobstore.", "kubernetes.", "lineage.", "pekko.", "plugin.", "process.",
            "queryable-state.", "resourcemanager.", "rest.", "scheduler-mode", "slot.", "slotmanager.", "web.",
            "yarn.", "zookeeper.",
        )
    ),
    WithoutEffect("user.artifacts.*", _NO_CLASSES),
    WithoutEffect("fs.*", _SPARKS_FILES),
    WithoutEffect("s3.*", _SPARKS_FILES),
    WithoutEffect("gs.*", _SPARKS_FILES),
)  # fmt: skip
"""The first that matches a key applies."""


def without_effect(key: str) -> WithoutEffect | None:
    return next((setting for setting in WITHOUT_EFFECT if setting.matches(key)), None)
