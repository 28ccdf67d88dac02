"""The parameters and result of a function, from its source: its annotations, or the types in `@millstream.udf`."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import datetime as dt
import decimal
import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.module_source import NotReadableError
from millstream.catalog.table_functions import GIVES_MANY, TableDeclaration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from millstream.catalog.module_source import ModuleSource

_KNOWN_MODULES: Final[Mapping[str, types.ModuleType]] = {
    "builtins": builtins,
    "collections.abc": collections.abc,
    "datetime": dt,
    "decimal": decimal,
    "types": types,
    "typing": typing,
}
"""Their names are looked up by importing them: that runs none of the user's code."""
_UDF: Final = frozenset({"millstream.udf", "millstream.catalog.functions.udf"})
_UDTF: Final = frozenset({"millstream.udtf", "millstream.catalog.table_functions.udtf"})
_KEEPS_SIGNATURE: Final = frozenset({"functools.cache", "functools.lru_cache"})


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `@millstream.udf` declares: types as SQL text."""

    arguments: tuple[str, ...]
    result: str


@dataclass(frozen=True, slots=True)
class Annotations:
    parameters: tuple[str, ...]
    """The parameters that a call passes by position."""
    hints: Mapping[str, object]
    """By parameter, and by `return`."""
    not_positional: tuple[str, ...] = ()
    """Parameters that cannot be passed by position: `*values`, and keyword-only ones without a default."""


class UnknownNameError(Exception):
    """An annotation uses a name that the module does not have."""


def signature_of(module: ModuleSource, function: ast.FunctionDef) -> Declaration | TableDeclaration | Annotations:
    declared: Declaration | TableDeclaration | None = None
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = _full_name(module, called)
        if name in _UDF and isinstance(decorator, ast.Call):
            declared = _read_declaration(decorator)
        elif name in _UDTF and isinstance(decorator, ast.Call):
            declared = _read_table_declaration(decorator)
        elif name not in _KEEPS_SIGNATURE:
            raise NotReadableError(f"it is decorated with @{ast.unparse(called)}")
    return declared or _annotations(module, function)


def is_generator(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield child
            yield from _own_nodes(child)


def _read_declaration(call: ast.Call) -> Declaration:
    try:
        keywords = _literals_of(call)
        return Declaration(tuple(keywords["arguments"]), keywords["result"])
    except (ValueError, KeyError, TypeError):
        raise NotReadableError("the types in @udf are not written as literals") from None


def _read_table_declaration(call: ast.Call) -> TableDeclaration:
    try:
        keywords = _literals_of(call)
        return TableDeclaration(tuple(keywords["arguments"]), tuple(keywords["result_types"]))
    except (ValueError, KeyError, TypeError):
        raise NotReadableError("the types in @udtf are not written as literals") from None


def _literals_of(call: ast.Call) -> dict[str | None, Any]:
    return {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}


def _annotations(module: ModuleSource, function: ast.FunctionDef) -> Annotations:
    parameters = function.args
    found = [*parameters.posonlyargs, *parameters.args]
    written = {parameter.arg: parameter.annotation for parameter in found} | {"return": function.returns}
    hints = {name: _evaluate(module, node) for name, node in written.items() if node is not None}
    keywords = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    others = [f"*{parameters.vararg.arg}"] if parameters.vararg is not None else []
    others += [parameter.arg for parameter, default in keywords if default is None]
    return Annotations(tuple(parameter.arg for parameter in found), hints, tuple(others))


def _evaluate(module: ModuleSource, node: ast.expr) -> object:
    """The object that an annotation refers to, using Python's own types only."""
    match node:
        case ast.Constant(value=str(text)):
            try:
                return _evaluate(module, ast.parse(text, mode="eval").body)
            except SyntaxError:
                raise UnknownNameError(f"Forward reference must be an expression -- got {text!r}") from None
        case ast.Constant(value=None):
            return types.NoneType
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return typing.Union[_evaluate(module, left), _evaluate(module, right)]  # noqa: UP007
        case ast.Subscript(value=value, slice=inside):
            return _subscript(module, node, value, inside)
        case ast.Name() | ast.Attribute():
            return _find_object(module, node)
        case _:
            raise NotReadableError(f"annotation {ast.unparse(node)} is computed")


def _subscript(module: ModuleSource, node: ast.expr, value: ast.expr, inside: ast.expr) -> object:
    base = _find_object(module, value)
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if base is typing.Annotated:
        return _evaluate(module, parts[0])
    if base in (typing.Optional, typing.Union):
        union: object = typing.Union[tuple(_evaluate(module, part) for part in parts)]  # noqa: UP007
        return typing.Optional[union] if base is typing.Optional else union  # noqa: UP045
    if base is tuple or typing.get_origin(base) in GIVES_MANY or base in GIVES_MANY:
        return base[tuple(_evaluate(module, part) for part in parts)]  # type: ignore[index]
    return _Other(ast.unparse(node))


@dataclass(frozen=True, slots=True)
class _Other:
    """An annotation without a corresponding SQL type."""

    text: str

    def __call__(self) -> None:
        """`typing` accepts only callables as types."""

    def __str__(self) -> str:
        return self.text


def _find_object(module: ModuleSource, node: ast.expr) -> object:
    full_name = _full_name(module, node)
    place, _, name = full_name.rpartition(".")
    if place in _KNOWN_MODULES and hasattr(_KNOWN_MODULES[place], name):
        return getattr(_KNOWN_MODULES[place], name)
    if place == module.name:
        return _Other(f"<class '{full_name}'>")
    raise NotReadableError(f"annotation {ast.unparse(node)} is not one of Python's own types")


def _full_name(module: ModuleSource, node: ast.expr) -> str:
    """`dt.date` as `datetime.date`, whatever its name in the module."""
    match node:
        case ast.Attribute(value=value, attr=name):
            return f"{_full_name(module, value)}.{name}"
        case ast.Name(id=name):
            return _meaning(module, name)
        case _:
            raise NotReadableError(f"{ast.unparse(node)} is computed")


def _meaning(module: ModuleSource, name: str) -> str:
    found = module.binding(name)
    match found:
        case None if hasattr(builtins, name):
            return f"builtins.{name}"
        case None:
            raise UnknownNameError(f"name '{name}' is not defined")
        case ast.Import():
            alias = next(one for one in found.names if (one.asname or one.name.partition(".")[0]) == name)
            return alias.name if alias.asname else name
        case ast.ImportFrom():
            imported = next(alias.name for alias in found.names if (alias.asname or alias.name) == name)
            return _meaning_elsewhere(module, found, imported)
        case ast.Assign(targets=[ast.Name()], value=ast.Name(id=other)) if other == name:
            raise NotReadableError(f'"{name}" is an alias of itself')
        case ast.Assign(targets=[ast.Name()], value=ast.Name() | ast.Attribute() as value):
            return _full_name(module, value)
        case ast.ClassDef():
            return f"{module.name}.{name}"
        case _:
            raise NotReadableError(f'"{name}" is computed')


def _meaning_elsewhere(module: ModuleSource, statement: ast.ImportFrom, name: str) -> str:
    place = module.absolute_name(statement)
    full_name = f"{place}.{name}"
    if place in _KNOWN_MODULES or full_name in _UDF | _UDTF | _KEEPS_SIGNATURE:
        return full_name
    other = module.import_from(statement)
    if other.binding(name) is None:
        raise NotReadableError(f'module "{place}" has no "{name}"')
    return _meaning(other, name)
