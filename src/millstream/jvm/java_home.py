"""A JAVA_HOME whose Java does not learn where Spark is installed. See docs/adr/0026-faster-starts.md."""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRIPT: Final = """#!/usr/bin/env bash
case " $* " in
  *" org.apache.spark.launcher.Main "*) ;;
  *) unset SPARK_HOME; JAVA_HOME={home} ;;
esac
exec {java} "$@"
"""
"""Spark's launcher, which puts together the command line of the JVM, must know Spark and this script.

In bash, as Spark's own scripts: others drop variables such as `db.password`, which are no names in a shell.
"""


@contextmanager
def java_home(java: Path, *, hides_spark: bool) -> Iterator[str]:
    """What JAVA_HOME is to be while Spark starts.

    A JVM that knows SPARK_HOME has each Python process for data sources load PySpark from Spark's zip files, which are
    compiled again every time, and starts another one that only looks for installed data sources.
    """
    home, program = str(java.parent.parent), java.resolve()
    is_plain = (program.parent.parent / "lib" / "modules").exists()  # not a script or stub that follows JAVA_HOME
    with TemporaryDirectory(prefix="millstream-java-") as folder:
        script = Path(folder) / "bin" / "java"
        script.parent.mkdir()
        script.write_text(_SCRIPT.format(home=shlex.quote(home), java=shlex.quote(str(program))))
        script.chmod(0o700)
        may_run = os.access(script, os.X_OK)  # folders for temporary files may be mounted without programs
        yield folder if hides_spark and is_plain and may_run else home
