"""Rules of the house that no reader should have to check by eye."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from tests.unit.source_imports import PACKAGE, ROOT, imports, load_order, modules, package_of, packages

ARCHITECTURE = ROOT / "docs/dev/architecture.md"
SOURCES = sorted((ROOT / "src").rglob("*.py")) + sorted((ROOT / "tests").rglob("*.py"))
LONGEST = 500
_ROW = re.compile(r"^\|(?P<packages>[^|]+)\|[^|]+\|(?P<may_import>[^|]+)\|$", re.MULTILINE)
_NAME = re.compile(r"`(\w+)(?:/|\.py)?`")


def layers() -> list[tuple[list[str], set[str]]]:
    """The rows of the table of packages: those that a row describes, and those that they may import."""
    table = ARCHITECTURE.read_text(encoding="utf-8").split("## Packages")[1].split("\n## ")[0]
    rows = [(_NAME.findall(row["packages"]), set(_NAME.findall(row["may_import"]))) for row in _ROW.finditer(table)]
    return [(described, allowed) for described, allowed in rows if described]


@pytest.mark.parametrize(
    "module", ["millstream", "millstream.plan.program", "millstream.cli.main", "millstream.cli.run"]
)
def test_understanding_a_script_loads_no_spark(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('pyspark', 'polars', 'pandas') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_a_check_loads_neither_arrow_nor_spark() -> None:
    code = (
        "import sys; from importlib.resources import files; from typer.testing import CliRunner; "
        "from millstream.cli.main import app; script = str(files('millstream.demo') / 'pageviews.sql'); "
        "print(CliRunner().invoke(app, ['check', script, '--param', 'brokers=localhost:9092']).exit_code, "
        "[m for m in ('pyspark', 'pyarrow', 'numpy', 'polars', 'pandas') if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "0 []"


def test_each_package_has_one_row_on_the_page() -> None:
    assert sorted(package for described, _ in layers() for package in described) == sorted(packages())


def test_a_row_of_the_page_names_only_rows_above_it() -> None:
    above: set[str] = set()
    for described, allowed in layers():
        assert allowed - above == set(), f"{', '.join(described)}: these are no rows above it"
        above |= set(described)


def test_packages_import_only_what_the_page_allows() -> None:
    """Imports inside functions and for type checkers count as well."""
    allowed = {package: {*described, *others} for described, others in layers() for package in described}
    found = {(each.module, each.target_package) for each in imports() if each.is_internal}
    assert {(module, other) for module, other in found if other not in allowed[package_of(module)]} == set()


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert set(load_order()) == modules().keys()


def test_only_parser_and_resolver_know_sqlglot() -> None:
    using = {each.module for each in imports() if each.target.split(".")[0] == "sqlglot"}
    assert {name for name in using if not name.startswith(("millstream.sql.", "millstream.plan.resolver."))} == set()


def test_only_operators_know_whether_they_have_one_input() -> None:
    """Everybody else asks a node for its `inputs`, so that an operator with two of them needs no change elsewhere."""
    outside = ((name, tree) for name, tree in modules().items() if not name.startswith("millstream.plan.operators."))
    asking = {
        name
        for name, tree in outside
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "input"
    }
    assert asking == set()


def test_plan_and_runtime_know_no_connector() -> None:
    """They ask a Source or a Sink; only the Kafka part of the runtime knows what a Kafka table is."""
    declarations = "\n".join(path.read_text() for path in PACKAGE.glob("connectors/*/tables.py"))
    concrete = set(re.findall(r"^class (\w+(?:Source|Sink))\b", declarations, re.MULTILINE))
    assert {"KafkaSource", "KafkaSink", "DatagenSource", "FilesystemSink", "PrintSink", "BlackholeSink"} <= concrete
    asking = {*PACKAGE.glob("plan/**/*.py"), *PACKAGE.glob("runtime/**/*.py")} - {*PACKAGE.glob("runtime/kafka/*.py")}
    named = {path.name: concrete & set(re.findall(r"\w+", path.read_text())) for path in asking}
    assert {name: found for name, found in named.items() if found} == {}


def test_no_file_is_too_long() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}
