"""Rules of the house that no reader should have to check by eye."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py")) + sorted((ROOT / "tests").rglob("*.py"))
LONGEST = 500
ROOMS = ("errors", "sql", "catalog", "formats", "connectors", "plan", "kernels", "spark", "runtime", "cli")
MAY_IMPORT = {
    "error_catalogue": {"errors"},
    "sql": {"errors", "source", "spelling", "secrets"},
    "aggregates": {"sql"},
    "catalog": {"errors", "source", "spelling", "secrets", "changelog", "sql"},
    "formats": {"errors", "source", "display_width", "changelog", "sql", "catalog"},
    "connectors": {"errors", "source", "spelling", "changelog", "sql", "catalog", "formats", "jvm"},
    "plan": {"errors", "source", "spelling", "changelog", "aggregates", "sql", "catalog", "formats", "connectors"},
    "kernels": {"errors", "changelog", "aggregates", "private_folder"},
    "delivery": {"errors", "catalog", "connectors", "durable_files", "failpoints", "private_folder"},
    "jvm": {"errors", "notices"},
    "spark": {
        "errors",
        "source",
        "changelog",
        "aggregates",
        "sql",
        "catalog",
        "formats",
        "connectors",
        "plan",
        "kernels",
        "delivery",
        "durable_files",
        "failpoints",
        "jvm",
    },
    "runtime": {
        "errors",
        "source",
        "changelog",
        "aggregates",
        "sql",
        "catalog",
        "formats",
        "connectors",
        "plan",
        "kernels",
        "delivery",
        "durable_files",
        "failpoints",
        "jvm",
        "spark",
    },
}


@pytest.mark.parametrize(
    "module", ["millstream", "millstream.plan.program", "millstream.cli.main", "millstream.cli.run"]
)
def test_understanding_a_script_loads_no_spark(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('pyspark', 'polars', 'pandas') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_preloaded_workers_have_no_polars() -> None:
    code = (
        "import sys; from millstream.spark.worker_daemon import preload; preload(); "
        "print('pyspark.worker' in sys.modules, 'polars' in sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_only_what_lies_below(room: str) -> None:
    imported = {
        (path.name, line.split()[1].split(".")[1])
        for path in (ROOT / "src/millstream" / room).rglob("*.py")
        for line in map(str.strip, path.read_text().splitlines())
        if line.startswith("from millstream.")
    }
    assert {(file, other) for file, other in imported if other not in MAY_IMPORT[room] | {room}} == set()


def test_plan_and_runtime_know_no_connector() -> None:
    """They ask a Source or a Sink; only the Kafka part of the runtime knows what a Kafka table is."""
    package = ROOT / "src/millstream"
    declarations = "\n".join(path.read_text() for path in package.glob("connectors/*/tables.py"))
    concrete = set(re.findall(r"^class (\w+(?:Source|Sink))\b", declarations, re.MULTILINE))
    assert {"KafkaSource", "KafkaSink", "DatagenSource", "FilesystemSink", "PrintSink", "BlackholeSink"} <= concrete
    asking = {*package.glob("plan/**/*.py"), *package.glob("runtime/**/*.py")} - {*package.glob("runtime/kafka/*.py")}
    named = {path.name: concrete & set(re.findall(r"\w+", path.read_text())) for path in asking}
    assert {name: found for name, found in named.items() if found} == {}


def test_no_file_is_too_long() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}
