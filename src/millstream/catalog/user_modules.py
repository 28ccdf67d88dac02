"""Python objects of the user that a script names as `module:name`."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager, redirect_stdout
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
    """The modules imported for it from the user's folders, sent along because Spark's workers cannot import them."""


class NotImportableError(Exception):
    """`why` is a short reason, `detail` the message of what the user's module raised, `hint` what to do."""

    def __init__(self, why: str, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail
        self.hint = hint


def import_object(module_name: str, name: str, folders: Sequence[Path]) -> Imported:
    """Searches for the module in these folders and the current one first."""
    searched = [*folders, Path.cwd()]
    _forget_namesake(module_name, searched)
    before = set(sys.modules)
    with importable(searched), redirect_stdout(sys.stderr):
        module = _import(module_name)
    if not hasattr(module, name):
        raise NotImportableError(f'module "{module_name}" has no "{name}"', f"It is in {module.__file__}.")
    imported = {*(sys.modules.keys() - before), module_name}
    known = (sys.modules[key] for key in sorted(imported))
    return Imported(getattr(module, name), tuple(one for one in known if _is_inside(one, searched)))


def _import(name: str) -> types.ModuleType:
    """Whatever the user's module does while it is imported, even exiting, is an error of the script."""
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except ModuleNotFoundError as error:
        is_itself = error.name is not None and f"{name}.".startswith(f"{error.name}.")
        raise (missing_module(name, error) if is_itself else not_importable(name, error)) from error
    except BaseException as error:
        raise not_importable(name, error) from error


def not_importable(name: str, error: BaseException, hint: str | None = None) -> NotImportableError:
    why = f'module "{name}" could not be imported'
    return NotImportableError(why, f"{type(error).__name__}: {error}.", hint)


def missing_module(name: str, error: ModuleNotFoundError) -> NotImportableError:
    """The module does not exist, or one of its parent packages does not."""
    hint = f"Put {name.partition('.')[0]}.py beside the script, or into the folder this is run from."
    return not_importable(name, error, hint)


def _forget_namesake(name: str, folders: Sequence[Path]) -> None:
    """A module of another script may have the same name; functions that came from it keep it."""
    own = next((file for folder in folders if (file := folder / f"{name}.py").exists()), None)
    known = getattr(sys.modules.get(name), "__file__", None)
    if own is not None and known is not None and Path(known).resolve() != own.resolve():
        del sys.modules[name]


def _is_inside(module: types.ModuleType, folders: Sequence[Path]) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and any(Path(file).resolve().is_relative_to(folder.resolve()) for folder in folders)


@contextmanager
def importable(folders: Sequence[Path]) -> Iterator[None]:
    before = list(sys.path)
    sys.path[:0] = [str(folder) for folder in folders]
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before
