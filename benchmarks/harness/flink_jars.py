"""Apache Flink from its Python package, with the Kafka connector, downloaded once."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.harness.packages import MissingError, install
from millstream.errors import SetupError
from millstream.jvm.ivy import resolve
from millstream.jvm.parts import cache_folder

_CONNECTOR: Final = Path(__file__).with_name("flink.ivy.xml")
_PACKAGE: Final = Path(__file__).with_name("flink.requirements.txt")


def flink_jars() -> list[Path]:
    """The class path of the SQL client; the first call on a machine downloads about 320 MB."""
    declared = hashlib.sha256(_CONNECTOR.read_bytes() + _PACKAGE.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / f"flink-{declared}"
    if not folder.exists():
        print(f"Flink and its connector to Kafka, 320 MB, once, into {folder}", flush=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".flink-", dir=folder.parent) as name:
            try:
                _download(Path(name)).rename(folder)
            except SetupError as error:
                raise MissingError(f"Flink could not be downloaded: {error}") from error
    return sorted(folder.iterdir())


def _download(work: Path) -> Path:
    jars = resolve("flink", work, lambda _: None, 11, declaration=_CONNECTOR)
    package = work / "package"
    install(["--no-deps", "--require-hashes", "--target", str(package), "--requirement", str(_PACKAGE)])
    for jar in [*package.glob("pyflink/lib/*.jar"), *package.glob("pyflink/opt/*.jar")]:
        shutil.move(jar, jars / jar.name)
    return jars
