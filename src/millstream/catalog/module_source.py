"""A user's module that is read but not run: what its names are bound to, as far as the source alone shows."""

from __future__ import annotations

import ast
import importlib.util
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from millstream.catalog.user_modules import NotImportableError, importable, missing_module, not_importable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec

_DYNAMIC: Final = frozenset({"exec", "eval", "globals", "locals", "setattr", "vars"})
"""Statements that can bind a name without naming it."""
_LONGEST_TRAIL: Final = 20
"""How many aliases are followed from module to module: two may refer to each other."""


class NotReadableError(Exception):
    """The source alone is not enough; only running the module would tell. `why` is a clause of a sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class ModuleSource:
    name: str
    file: str
    package: str
    """The package that its relative imports start from."""
    tree: ast.Module
    folders: tuple[Path, ...]

    def binding(self, name: str) -> ast.stmt | None:
        """The statement that binds the name last; None if there is none."""
        if any(isinstance(node, ast.Global) and name in node.names for node in ast.walk(self.tree)):
            raise NotReadableError(f'"{name}" is set from within a function')
        found = next((node for node in reversed(self.tree.body) if name in set(_bound_names(node))), None)
        if found is None and self._may_bind_more:
            raise NotReadableError(f'module "{self.name}" creates names while it runs')
        if isinstance(found, ast.If | ast.Try | ast.TryStar | ast.With | ast.For | ast.While | ast.Match):
            raise NotReadableError(f'"{name}" is defined under a condition')
        return found

    def import_from(self, statement: ast.ImportFrom) -> ModuleSource:
        """The module that `from … import …` names."""
        return read_module(self.absolute_name(statement), self.folders)

    def absolute_name(self, statement: ast.ImportFrom) -> str:
        relative = "." * statement.level + (statement.module or "")
        try:
            return importlib.util.resolve_name(relative, self.package)
        except ImportError as error:
            raise not_importable(self.name, error) from error

    @property
    def _may_bind_more(self) -> bool:
        return any(
            (isinstance(node, ast.Name) and node.id in _DYNAMIC)
            or (isinstance(node, ast.ImportFrom) and node.names[0].name == "*")
            or (isinstance(node, ast.FunctionDef) and node.name == "__getattr__")
            for node in ast.walk(self.tree)
        )


def read_module(name: str, folders: Sequence[Path]) -> ModuleSource:
    """Searches like an import, in these folders first, without importing parent packages."""
    with importable(folders):
        spec = _find(name)
    file = spec.origin or ""
    source = _source(spec)
    if source is None:
        raise NotReadableError(f'the source of module "{name}" is not available')
    package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
    return ModuleSource(name, file, package, _parse(name, source, file), tuple(folders))


def find_definition(module: ModuleSource, name: str) -> tuple[ModuleSource, ast.stmt]:
    """Follows a name through imports and assignments to its definition: a function, a class, a value, a module."""
    for step in range(_LONGEST_TRAIL):
        found = module.binding(name)
        match found:
            case None if step and module.package == module.name:
                raise NotReadableError(f'"{name}" may be a module in package "{module.name}"')
            case None:
                raise NotImportableError(f'module "{module.name}" has no "{name}"', f"It is in {module.file}.")
            case ast.ImportFrom():
                name = next(alias.name for alias in found.names if (alias.asname or alias.name) == name)
                module = module.import_from(found)
            case ast.Assign(targets=[ast.Name()], value=ast.Name(id=other)):
                name = other
            case _:
                return module, found
    raise NotReadableError(f'"{name}" is an alias of too many other names')


def _find(name: str) -> ModuleSpec:
    path: list[str] | None = None
    spec: ModuleSpec | None = None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        whole = ".".join(parts[:count])
        try:
            spec = _spec(whole, path)
        except KeyError:  # a folder without __init__.py inside another one: known only when that is imported
            raise NotReadableError(f'package "{name}" has no __init__.py') from None
        if spec is None:
            raise missing_module(name, ModuleNotFoundError(f"No module named {whole!r}"))
        if count < len(parts) and spec.submodule_search_locations is None:
            if (registered := _find_loaded(name)) is not None:
                return registered
            if "sys.modules" in (_source(spec) or ""):
                raise NotReadableError(f'module "{whole}" may create "{name}" when it is imported')
            why = f"No module named {'.'.join(parts[: count + 1])!r}; {whole!r} is not a package"
            raise missing_module(name, ModuleNotFoundError(why))
        path = list(spec.submodule_search_locations or ())
    assert spec is not None
    return spec


def _find_loaded(name: str) -> ModuleSpec | None:
    """A module that is loaded although its name cannot be found, such as `os.path`, which `os` registers."""
    return getattr(sys.modules.get(name), "__spec__", None)


def _spec(name: str, path: list[str] | None) -> ModuleSpec | None:
    """Like `importlib.util.find_spec`, which would import the parent packages."""
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec
    return None


def _source(spec: ModuleSpec) -> str | None:
    try:
        if spec.has_location and spec.origin is not None and spec.origin.endswith(".py"):
            return importlib.util.decode_source(Path(spec.origin).read_bytes())
        return cast("str | None", spec.loader.get_source(spec.name))  # type: ignore[union-attr]
    except (SyntaxError, UnicodeDecodeError) as error:
        raise not_importable(spec.name, error) from error
    except (AttributeError, ImportError, OSError):  # a built-in module, an extension module, a file in an archive
        return None


def _parse(name: str, source: str, file: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, file, "exec", dont_inherit=True)
            return ast.parse(source, file)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise not_importable(name, error) from error


def _bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a statement at the top level of a module binds."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import():
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        case ast.ImportFrom():
            yield from (alias.asname or alias.name for alias in node.names)
        case ast.Name(ctx=ast.Store() | ast.Del()):
            yield node.id
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            pass
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar() if node.name is not None:
            yield node.name
            yield from _names_bound_within(node)
        case _:
            yield from _names_bound_within(node)


def _names_bound_within(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        yield from _bound_names(child)
