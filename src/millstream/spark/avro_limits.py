"""Limits on what an Avro message may announce: a corrupt one would allocate all memory and crash the JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

AVRO_LIMITS: Final = {
    "org.apache.avro.limits.string.maxLength": 64 << 20,
    "org.apache.avro.limits.bytes.maxLength": 64 << 20,
    "org.apache.avro.limits.collectionItems.maxLength": 16 << 20,
}
"""System properties of the JVM that decodes."""
JAVA_OPTIONS: Final = tuple(f"-D{key}={value}" for key, value in AVRO_LIMITS.items())
_CHECKS: Final = dict(
    zip(AVRO_LIMITS, ("checkMaxStringLength", "checkMaxBytesLength", "checkMaxCollectionLength"), strict=True)
)
_EXECUTOR_OPTIONS: Final = "spark.executor.extraJavaOptions"


def limit_avro(spark: SparkSession, notice: Callable[[str], None]) -> None:
    """Sets the limits of a session that the user has started, and says so if it is too late for them."""
    if not (spark.sparkContext.master or "").startswith("local"):
        options = spark.sparkContext.getConf().get(_EXECUTOR_OPTIONS) or ""
        if any(key not in options for key in AVRO_LIMITS):
            notice(_advise(_EXECUTOR_OPTIONS))
        return
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    properties = jvm.java.lang.System
    for key, value in AVRO_LIMITS.items():
        properties.setProperty(key, properties.getProperty(key, str(value)))
    # Avro has read them by then if the session has used it before.
    if not all(_refuses_more_than(jvm, key, properties.getProperty(key)) for key in AVRO_LIMITS):
        notice(_advise("spark.driver.extraJavaOptions"))


def _refuses_more_than(jvm: Any, key: str, limit: str) -> bool:
    try:
        getattr(jvm.org.apache.avro.SystemLimitException, _CHECKS[key])(int(limit) + 1)
    except Py4JError:
        return True
    return False


def _advise(option: str) -> str:
    return (
        "a corrupt message in binary Avro can use up the memory of the given SparkSession; "
        f"start it with '{option}' = '{' '.join(JAVA_OPTIONS)}'"
    )
