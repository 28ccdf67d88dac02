"""The jars of other systems, downloaded once into the cache folder."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.harness.packages import MissingError, install
from millstream.errors import SetupError
from millstream.jvm.ivy import resolve
from millstream.jvm.parts import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable

_CONNECTOR: Final = Path(__file__).with_name("flink.ivy.xml")
_PACKAGE: Final = Path(__file__).with_name("flink.requirements.txt")
_SPARK: Final = Path(__file__).with_name("spark.ivy.xml")


def flink_jars() -> list[Path]:
    """The class path of the SQL client: Flink's Python package, with the Kafka connector."""
    return _keep("flink", "Flink and its connector to Kafka, 320 MB", _download_flink, _CONNECTOR, _PACKAGE)


def spark_jars() -> list[Path]:
    """What hand-written PySpark needs besides Millstream's own parts."""
    return _keep("plain-spark", "Avro for Spark", lambda work: _resolve("spark", work, 1, _SPARK), _SPARK)


def _keep(name: str, title: str, download: Callable[[Path], Path], *declarations: Path) -> list[Path]:
    declared = hashlib.sha256(b"".join(file.read_bytes() for file in declarations)).hexdigest()[:16]
    folder = cache_folder() / f"{name}-{declared}"
    if not folder.exists():
        print(f"{title}, once, into {folder}", flush=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as work:
            try:
                download(Path(work)).rename(folder)
            except SetupError as error:
                raise MissingError(f"{title} could not be downloaded: {error}") from error
    return sorted(folder.iterdir())


def _download_flink(work: Path) -> Path:
    jars = _resolve("flink", work, 11, _CONNECTOR)
    package = work / "package"
    install(["--no-deps", "--require-hashes", "--target", str(package), "--requirement", str(_PACKAGE)])
    for jar in [*package.glob("pyflink/lib/*.jar"), *package.glob("pyflink/opt/*.jar")]:
        shutil.move(jar, jars / jar.name)
    return jars


def _resolve(part: str, work: Path, expected: int, declaration: Path) -> Path:
    return resolve(part, work, lambda _: None, expected, declaration=declaration)
