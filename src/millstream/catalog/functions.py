"""User-defined Python functions: `CREATE FUNCTION f AS 'module:function' LANGUAGE PYTHON`."""

from __future__ import annotations

import ast
import datetime as dt
import inspect
import types
import typing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from millstream.catalog.module_source import NotReadableError, find_definition, read_module
from millstream.catalog.static_signature import (
    Annotations,
    Declaration,
    UnknownNameError,
    is_generator,
    signature_of,
)
from millstream.catalog.table_functions import (
    TABLE_DECLARED,
    TableDeclaration,
    columns_of_rows,
    type_of_rows,
)
from millstream.catalog.user_modules import NotImportableError, import_object
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.type_text import type_of_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from millstream.source import Span
    from millstream.sql.types import DataType

    Signature = Declaration | TableDeclaration | Annotations

F = TypeVar("F", bound="Callable[..., Any]")

_DECLARED: Final = "__millstream_udf__"
_OF_ANNOTATIONS: Final = {
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE",
    str: "STRING",
    bytes: "BYTES",
    Decimal: "DECIMAL(38, 18)",
    dt.date: "DATE",
    dt.time: "TIME",
    dt.datetime: "TIMESTAMP(6)",
}

_ROWS: Final = (
    "Annotate its rows, e.g. `-> Iterator[str]` or `-> Iterator[tuple[str, int]]`, or use @millstream.udtf; "
    "a function that gives one value has `return`."
)
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ANNOTATE: Final = "Annotate its parameters and its result, e.g. `def f(a: int) -> str`, or use @millstream.udf."


@dataclass(frozen=True, slots=True)
class UserFunction:
    name: str
    implementation: str
    """`module:function`, as written."""
    arguments: tuple[DataType, ...]
    result: DataType
    is_vectorised: bool
    """Whether its arguments and result are whole Arrow arrays, not single values."""
    span: Span
    function: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    """None if its module was read but not imported."""
    modules: tuple[types.ModuleType, ...] = field(default=(), compare=False, repr=False)
    """The modules imported for it from the user's folders, sent along because Spark's workers cannot import them."""
    gives_rows: bool = False
    """Whether a call yields rows; the result is then an array of them."""

    def __deepcopy__(self, _: dict[int, object]) -> UserFunction:
        """It is immutable, and part of expressions, which are copied often."""
        return self


def udf(*, arguments: Sequence[str], result: str) -> Callable[[F], F]:
    """Declares a function that takes and gives pyarrow arrays.

    >>> @udf(arguments=["BIGINT", "BIGINT"], result="BIGINT")
    ... def total(left, right):
    ...     return pyarrow.compute.add(left, right)
    """

    def attach(function: F) -> F:
        setattr(function, _DECLARED, Declaration(tuple(arguments), result))
        return function

    return attach


def load_function(name: str, implementation: str, span: Span, folders: Sequence[Path] = ()) -> UserFunction:
    """Imports `module:function`, or `module.function`, which runs the module's code.

    The module is searched for in these folders and the current one first.
    """
    problem = _Refusal(name, implementation, span)
    module_name, function_name = problem.parts()
    try:
        imported = import_object(module_name, function_name, folders)
    except NotImportableError as error:
        raise problem(error.why, error.detail, error.hint) from error
    found = imported.found
    if not callable(found):
        raise problem.not_a_function()
    if inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found):
        raise problem.is_coroutine()
    declaration = getattr(found, TABLE_DECLARED, None) or getattr(found, _DECLARED, None)
    declares = isinstance(declaration, Declaration | TableDeclaration)
    signature: Signature = declaration if declares else _annotations(found, problem)  # type: ignore[assignment]
    types_ = _types(signature, problem, yields=inspect.isgeneratorfunction(found))
    return replace(
        _function_of(name, implementation, signature, types_, span), function=found, modules=imported.modules
    )


def read_function(name: str, implementation: str, span: Span, folders: Sequence[Path] = ()) -> UserFunction:
    """The same as `load_function`, from the source of the module, without running any of its code.

    Raises `NotReadableError` if only running it would tell.
    """
    problem = _Refusal(name, implementation, span)
    module_name, function_name = problem.parts()
    try:
        module, found = find_definition(read_module(module_name, [*folders, Path.cwd()]), function_name)
        if isinstance(found, ast.Import) or (isinstance(found, ast.Assign) and isinstance(found.value, ast.Constant)):
            raise problem.not_a_function()
        if not isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
            raise NotReadableError(f'"{function_name}" is not a plain def')
        if isinstance(found, ast.AsyncFunctionDef):
            raise problem.is_coroutine()
        signature = signature_of(module, found)
        yields = is_generator(found)
    except NotImportableError as error:
        raise problem(error.why, error.detail, error.hint) from error
    except UnknownNameError as error:
        raise problem.unreadable_annotations(error) from error
    except RecursionError:
        raise NotReadableError(f'the definition of "{function_name}" is circular') from None
    return _function_of(name, implementation, signature, _types(signature, problem, yields=yields), span)


def _function_of(
    name: str, implementation: str, signature: Signature, types_: tuple[tuple[DataType, ...], DataType], span: Span
) -> UserFunction:
    is_vectorised = isinstance(signature, Declaration)
    return UserFunction(name, implementation, *types_, is_vectorised, span, gives_rows=_gives_rows(signature))


def _annotations(function: Callable[..., Any], problem: _Refusal) -> Annotations:
    try:
        parameters = inspect.signature(function).parameters.values()
        hints = typing.get_type_hints(function)
    except Exception as error:  # noqa: BLE001  # annotations are the user's code
        raise problem.unreadable_annotations(error) from None
    positional = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]
    others = [f"*{parameter.name}" for parameter in parameters if parameter.kind is parameter.VAR_POSITIONAL]
    others += [
        parameter.name
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    ]
    return Annotations(tuple(positional), hints, tuple(others))


def _gives_rows(found: Signature) -> bool:
    if isinstance(found, Annotations):
        return columns_of_rows(found.hints.get("return")) is not None
    return isinstance(found, TableDeclaration)


def _types(found: Signature, problem: _Refusal, *, yields: bool) -> tuple[tuple[DataType, ...], DataType]:
    if yields and not _gives_rows(found):
        raise problem("it yields, and is not declared to give rows", hint=_ROWS)
    if isinstance(found, Annotations):
        return _read_annotations(found, problem)
    return _read_declared_types(found, problem)


def _read_declared_types(
    declaration: Declaration | TableDeclaration, problem: _Refusal
) -> tuple[tuple[DataType, ...], DataType]:
    try:
        arguments = tuple(map(type_of_text, declaration.arguments))
        if isinstance(declaration, Declaration):
            return arguments, type_of_text(declaration.result)
        return arguments, type_of_rows([type_of_text(text) for text in declaration.result_types])
    except ScriptError as error:
        raise problem("its declaration has a type that cannot be read", f"{error}", _ANNOTATE) from None


def _read_annotations(found: Annotations, problem: _Refusal) -> tuple[tuple[DataType, ...], DataType]:
    if found.not_positional:
        why = f"arguments are passed by position, and {', '.join(found.not_positional)} cannot be passed that way"
        raise problem(why, hint="Declare one plain parameter for each argument, e.g. `def f(a: int, b: int) -> int`.")
    missing = [f'parameter "{parameter}"' for parameter in found.parameters if parameter not in found.hints]
    missing += ["the result"] if "return" not in found.hints else []
    if missing:
        raise problem(f"{' and '.join(missing)} {'has' if len(missing) == 1 else 'have'} no annotation", hint=_ANNOTATE)
    arguments = tuple(_read_annotation(found.hints[parameter], problem) for parameter in found.parameters)
    columns = columns_of_rows(found.hints["return"])
    if columns is None:
        return arguments, _read_annotation(found.hints["return"], problem)
    return arguments, type_of_rows([_read_annotation(column, problem) for column in columns])


def _read_annotation(annotation: object, problem: _Refusal) -> DataType:
    options = [option for option in typing.get_args(annotation) if option is not types.NoneType]
    is_optional = len(options) == 1 and types.NoneType in typing.get_args(annotation)
    text = _OF_ANNOTATIONS.get(options[0] if is_optional else annotation)  # type: ignore[arg-type]
    if text is None:
        known = ", ".join(kind.__name__ for kind in _OF_ANNOTATIONS)
        raise problem(f"no SQL type is known for the annotation {annotation}", f"Known are {known}.", _ANNOTATE)
    return type_of_text(text)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a function cannot be used."""

    name: str
    implementation: str
    span: Span

    def __call__(self, why: str, detail: str | None = None, hint: str | None = None) -> ScriptError:
        primary = f'function "{self.name}" cannot be used: {why}'
        return ScriptError(Diagnostic(Code.INVALID_FUNCTION, primary, self.span, detail=detail, hint=hint))

    def parts(self) -> tuple[str, str]:
        has_colon = ":" in self.implementation
        module, _, function = self.implementation.partition(":") if has_colon else self.implementation.rpartition(".")
        if not module or not function:
            why = f"'{self.implementation}' is not of the form 'module:function'"
            raise self(why, hint="Write the module and the function, e.g. AS 'prices:rounded'.")
        return module, function

    def not_a_function(self) -> ScriptError:
        return self(f'"{self.implementation}" is not a function')

    def is_coroutine(self) -> ScriptError:
        return self("it is a coroutine", hint="Write it with plain `def`.")

    def unreadable_annotations(self, error: Exception) -> ScriptError:
        return self("its annotations cannot be read", f"{error}.", _ANNOTATE)
