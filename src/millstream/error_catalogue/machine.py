"""M6: requirements on this machine."""

from __future__ import annotations

from typing import Final

from millstream.error_catalogue.explanation import Explanation, Group
from millstream.errors import Code

MACHINE: Final = Group(
    "M6: the machine",
    "Java, the JVM parts, Spark and the broker of `millstream broker`.",
    {
        Code.JAVA_MISSING: Explanation(
            "no Java",
            cause="There is no Java on PATH, or JAVA_HOME names a folder without one.",
            fix="Install a Java 17 or 21 runtime and put it on PATH, or correct JAVA_HOME.",
            example="java_missing",
        ),
        Code.JAVA_VERSION: Explanation(
            "Java of another version",
            cause="The Java that was found is not one that Spark runs on.",
            fix="Install Java 17 or 21 and name its folder in JAVA_HOME, which wins over PATH.",
            example="java_version",
        ),
        Code.JVM_PARTS_UNAVAILABLE: Explanation(
            "jars that cannot be downloaded",
            cause="The first start on a machine downloads jars, and the repository could not be reached or the cache "
            "folder not be written.",
            fix="Connect once, set a proxy or another repository as the hint shows, or copy the cache folder.",
            example="jvm_parts_unavailable",
        ),
        Code.JVM_PARTS_DAMAGED: Explanation(
            "jars that do not match the lock file",
            cause="What was downloaded is not what Millstream's lock file lists: it was cut short or replaced.",
            fix="Try again; if the problem persists, check the proxies in between, or use another repository.",
            example="jvm_parts_damaged",
        ),
        Code.BROKER_NOT_STARTED: Explanation(
            "broker that did not start",
            cause="`millstream broker` or a test could not start a broker: the port is taken, another broker uses the "
            "data folder, or Kafka ended at once.",
            fix="Choose another --port or --data, or follow what the detail quotes of the broker's log.",
            example="broker_not_started",
        ),
        Code.SPARK_SESSION_INCOMPLETE: Explanation(
            "Spark session that lacks something",
            cause="The session that was passed to `Session(spark)` lacks the jars that Kafka tables need, or is one "
            "of Spark Connect.",
            fix="Start it with the packages that the hint lists, or let `Session()` start its own.",
            example="spark_session_incomplete",
        ),
        Code.SPARK_NOT_STARTED: Explanation(
            "Spark that did not start",
            cause="Spark's process ended or refused its settings while it started.",
            fix="Look at the `spark.` settings of the script, and into the log that the hint names.",
            example="spark_not_started",
        ),
        Code.SPARK_ALREADY_RUNNING: Explanation(
            "Spark that is running already",
            cause="The Python process has a Spark session, and there can be only one.",
            fix="Pass it: `Session(spark)`.",
            example="spark_already_running",
        ),
    },
)
