"""Functions that the user wrote in Python: `CREATE FUNCTION f AS 'module:function' LANGUAGE PYTHON`."""

from __future__ import annotations

import datetime as dt
import inspect
import types
import typing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeVar

from millstream.catalog.user_modules import NotImportableError, import_named
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.type_text import type_of_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from millstream.source import Span
    from millstream.sql.types import DataType

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

_ANNOTATE: Final = "Annotate its parameters and its result, e.g. `def f(a: int) -> str`, or use @millstream.udf."


@dataclass(frozen=True, slots=True)
class UserFunction:
    name: str
    implementation: str
    """`module:function`, as written."""
    arguments: tuple[DataType, ...]
    result: DataType
    is_vectorised: bool
    """Whether it takes and gives whole Arrow arrays, not single values."""
    span: Span
    function: Callable[..., Any] = field(compare=False, repr=False)
    modules: tuple[types.ModuleType, ...] = field(compare=False, repr=False)
    """What was imported for it from the user's folders; Spark's workers cannot, so these travel with it."""

    def __deepcopy__(self, _: dict[int, object]) -> UserFunction:
        """Expressions carry it, and are copied often; it never changes."""
        return self


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `@millstream.udf` says of a function: types as SQL text."""

    arguments: tuple[str, ...]
    result: str


def udf(*, arguments: Sequence[str], result: str) -> Callable[[F], F]:
    """Declares a function that takes and gives pyarrow arrays.

    >>> @udf(arguments=["BIGINT", "BIGINT"], result="BIGINT")
    ... def total(left, right):
    ...     return pyarrow.compute.add(left, right)
    """

    def declared(function: F) -> F:
        setattr(function, _DECLARED, Declaration(tuple(arguments), result))
        return function

    return declared


def load_function(name: str, implementation: str, span: Span, folders: Sequence[Path] = ()) -> UserFunction:
    """Imports `module:function`, or `module.function`, looked for in these folders and the current one first."""
    has_colon = ":" in implementation
    module_name, _, function_name = implementation.partition(":") if has_colon else implementation.rpartition(".")
    if not module_name or not function_name:
        why = f"'{implementation}' is not of the form 'module:function'"
        raise _invalid(name, span, why, hint="Write the module and the function, e.g. AS 'prices:rounded'.")
    try:
        imported = import_named(module_name, function_name, folders)
    except NotImportableError as error:
        raise _invalid(name, span, error.why, error.detail, error.hint) from error
    found = imported.found
    if not callable(found):
        raise _invalid(name, span, f'"{implementation}" is not a function')
    if inspect.iscoroutinefunction(found) or inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found):
        raise _invalid(
            name, span, "it gives no value when it is called", hint="Write it with plain `def` and `return`."
        )
    arguments, result = _signature(name, found, span)
    vectorised = hasattr(found, _DECLARED)
    return UserFunction(name, implementation, arguments, result, vectorised, span, found, imported.modules)


def _signature(name: str, function: Callable[..., Any], span: Span) -> tuple[tuple[DataType, ...], DataType]:
    declaration = getattr(function, _DECLARED, None)
    if isinstance(declaration, Declaration):
        try:
            return tuple(map(type_of_text, declaration.arguments)), type_of_text(declaration.result)
        except ScriptError as error:
            raise _invalid(
                name, span, "its declaration has a type that cannot be read", f"{error}", _ANNOTATE
            ) from None
    try:
        hints = typing.get_type_hints(function)
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, NameError, ValueError) as error:
        raise _invalid(name, span, "its annotations cannot be read", f"{error}.", _ANNOTATE) from None
    missing = [parameter for parameter in (*parameters, "return") if parameter not in hints]
    if missing:
        raise _invalid(name, span, f"{', '.join(missing)} has no annotation", hint=_ANNOTATE)
    return tuple(_annotated(name, span, hints[p]) for p in parameters), _annotated(name, span, hints["return"])


def _annotated(name: str, span: Span, annotation: object) -> DataType:
    options = [option for option in typing.get_args(annotation) if option is not types.NoneType]
    is_optional = len(options) == 1 and types.NoneType in typing.get_args(annotation)
    text = _OF_ANNOTATIONS.get(options[0] if is_optional else annotation)  # type: ignore[arg-type]
    if text is None:
        known = ", ".join(kind.__name__ for kind in _OF_ANNOTATIONS)
        why = f"no SQL type is known for the annotation {annotation}"
        raise _invalid(name, span, why, f"Known are {known}.", _ANNOTATE)
    return type_of_text(text)


def _invalid(name: str, span: Span, why: str, detail: str | None = None, hint: str | None = None) -> ScriptError:
    primary = f'function "{name}" cannot be used: {why}'
    return ScriptError(Diagnostic(Code.INVALID_FUNCTION, primary, span, detail=detail, hint=hint))
