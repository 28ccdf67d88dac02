"""Python that the user wrote and a script names as `module:name`."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import types
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Imported:
    found: object
    modules: tuple[types.ModuleType, ...]
    """What was imported for it from the user's folders; Spark's workers cannot, so these travel with it."""


class NotImportableError(Exception):
    """`why` says it in short; `detail` has the words of what the user's module raised."""

    def __init__(self, why: str, detail: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail


def import_named(module_name: str, name: str, folders: Sequence[Path]) -> Imported:
    """Looks for the module in these folders and the current one first."""
    before = set(sys.modules)
    searched = [*folders, Path.cwd()]
    with _importable(searched):
        try:
            found = getattr(importlib.import_module(module_name), name)
        except AttributeError:
            raise NotImportableError(f'module "{module_name}" has no "{name}"') from None
        except Exception as error:  # whatever the user's module does while it is imported
            why = f'module "{module_name}" could not be imported'
            raise NotImportableError(why, f"{type(error).__name__}: {error}.") from error
    imported = {*(sys.modules.keys() - before), module_name}
    modules = (sys.modules[key] for key in sorted(imported))
    return Imported(found, tuple(module for module in modules if _lies_in(module, searched)))


def _lies_in(module: types.ModuleType, folders: Sequence[Path]) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and any(Path(file).resolve().is_relative_to(folder.resolve()) for folder in folders)


@contextmanager
def _importable(folders: Sequence[Path]) -> Iterator[None]:
    before = list(sys.path)
    sys.path[:0] = [str(folder) for folder in folders]
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before
