"""What the documentation shows can be run, and what it points at is there."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

import pytest

import millstream
from millstream.catalog.catalog import Catalog
from millstream.plan.program import compile_script
from millstream.source import SourceText
from tests.unit.source_imports import PACKAGE, ROOT, packages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWS_ERRORS = "errors.md"
FOR_DEVELOPERS = ("adr", "dev")
PARAMETERS = {"brokers": "localhost:9092", "password": "tiger"}

_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+)\.py\n")
_LINK = re.compile(r"\[[^\]]*\]\((?P<page>[^)#:]*)(?:#(?P<heading>[^)]*))?\)")
_STARTS_A_JOB = re.compile(r"\.(execute_sql|start|walk)\(")
_SETTING = re.compile(r"millstream\.state\.(?:buckets|cache-bytes|max-size)")
"""Named like a package."""
_INNER_MODULE = re.compile(rf"\b(?:from|import) millstream\.\w+|`millstream\.(?:{'|'.join(sorted(packages()))})\b")
_SOURCE_FILE = re.compile(r"`(\w+(?:/\w+)+\.py)`")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """Each with the line it begins on."""
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        if block["language"] == language:
            yield text.count("\n", 0, block.start("text")) + 1, block["text"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where a page's modules are written; they are forgotten afterwards."""
    before = set(sys.modules)
    yield tmp_path
    for name in sys.modules.keys() - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name != SHOWS_ERRORS and any(blocks(page, "sql"))],
    ids=lambda page: page.name,
)
def test_scripts_of_a_page_are_in_order(page: Path, folder: Path) -> None:
    """The blocks of a page are one script; a Python block that begins with its file's name is a module beside it."""
    for _, text in blocks(page, "python"):
        if file := _FILE.match(text):
            (folder / f"{file[1]}.py").write_text(text, encoding="utf-8")
    catalog, settings = Catalog(), dict[str, str]()
    for line, text in blocks(page, "sql"):
        source = SourceText(str(folder / page.name), "\n" * (line - 1) + text)
        program = compile_script(source, PARAMETERS, settings, catalog)
        settings = dict(program.setting_texts)


@pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(page, "python"))], ids=lambda page: page.name)
def test_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page are one program; those that start a job are only parsed, as they need Spark."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for line, text in blocks(page, "python"):
        code = compile("\n" * (line - 1) + text, str(page), "exec")
        if not _STARTS_A_JOB.search(text):
            exec(code, names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_of_a_page_imports_the_public_api(page: Path) -> None:
    for line, text in blocks(page, "python"):
        imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
        ours = {name.name for node in imports if node.module == "millstream" for name in node.names}
        assert ours <= set(millstream.__all__), f"{page.name}:{line}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name not in FOR_DEVELOPERS], ids=lambda p: p.name
)
def test_no_page_sends_users_to_inner_modules(page: Path) -> None:
    text = _SETTING.sub("", page.read_text(encoding="utf-8"))
    assert _INNER_MODULE.findall(text) == []


def test_everything_public_is_on_the_python_page() -> None:
    text = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    assert [name for name in millstream.__all__ if not name.startswith("_") and f"`{name}" not in text] == []
    assert [name for name in millstream.__all__ if getattr(millstream, name, None) is None] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for link in _LINK.finditer(page.read_text(encoding="utf-8")):
        target = (page.parent / link["page"]) if link["page"] else page
        assert target.exists(), f"{page.name} points at {link['page']}"
        if link["heading"] and target.suffix == ".md":
            assert link["heading"] in anchors(target), f"{page.name} points at {link['page']}#{link['heading']}"


@pytest.mark.parametrize(
    "page", [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs/dev").glob("*.md"))], ids=lambda page: page.name
)
def test_files_that_a_page_for_developers_names_exist(page: Path) -> None:
    named = set(_SOURCE_FILE.findall(page.read_text(encoding="utf-8")))
    assert {path for path in named if not any((folder / path).exists() for folder in (ROOT, PACKAGE))} == set()


def anchors(page: Path) -> set[str]:
    text = page.read_text(encoding="utf-8")
    headings = (re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in _HEADING.findall(text))
    return {*headings, *re.findall(r'<a id="([^"]*)">', text)}
