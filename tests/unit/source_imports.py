"""Who imports whom in src/millstream, read from the source text; nothing is imported to find out."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/millstream"


@dataclass(frozen=True, slots=True)
class Import:
    module: str
    """Which module imports, with dots."""
    target: str
    """What is imported: a module of ours where there is one of that name, else the name after `import` or `from`."""
    at_load: bool
    """Neither inside a function nor for type checkers alone."""

    @property
    def package(self) -> str:
        return package_of(self.module)

    @property
    def target_package(self) -> str:
        return package_of(self.target)

    @property
    def is_internal(self) -> bool:
        return self.target.split(".")[0] == PACKAGE.name


def package_of(module: str) -> str:
    """`plan` of `millstream.plan.typed`, `errors` of `millstream.errors`; the package itself is `__init__`."""
    return module.split(".")[1] if "." in module else "__init__"


def packages() -> frozenset[str]:
    """The packages and single modules right below src/millstream."""
    found = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    return frozenset(found | {path.stem for path in PACKAGE.glob("*.py")})


@cache
def modules() -> dict[str, ast.Module]:
    return {_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imports() -> tuple[Import, ...]:
    return tuple(found for name, tree in modules().items() for found in _imports_in(name, tree, at_load=True))


def load_order() -> tuple[str, ...]:
    """Each module after those that it needs to be loaded; a CycleError where there is no such order."""
    graph: dict[str, set[str]] = {name: set() for name in modules()}
    for found in imports():
        if found.at_load and found.is_internal:
            graph[found.module].add(found.target)
    return tuple(TopologicalSorter(graph).static_order())


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports_in(module: str, tree: ast.AST, *, at_load: bool) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import():
                yield from (Import(module, name.name, at_load) for name in node.names)
            case ast.ImportFrom(module=str(origin), level=0):
                targets = {f"{origin}.{name.name}" for name in node.names}
                ours = targets & modules().keys()
                yield from (
                    Import(module, target, at_load) for target in sorted(ours | ({origin} if targets - ours else set()))
                )
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _imports_in(module, node, at_load=False)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from _imports_in(module, node, at_load=False)
            case _:
                yield from _imports_in(module, node, at_load=at_load)
