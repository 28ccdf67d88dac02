"""The column types that the json formats support."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.types import CHARACTER, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_types(columns: Iterable[tuple[str, DataType]]) -> None:
    for _, type_ in columns:
        if why := not_in_json(type_):
            raise ScriptError(Diagnostic(Code.UNSUPPORTED_TYPE, why))


def not_in_json(type_: DataType) -> str | None:
    """Why a column of this type is not supported, or None."""
    if type_.key is not None and type_.key.root not in CHARACTER:
        return f"JSON format doesn't support non-string as key type of map. The type is: {type_}"
    if type_.root is TypeRoot.MULTISET and type_.element is not None and type_.element.root not in CHARACTER:
        return f"JSON format doesn't support non-string as element of a multiset. The type is: {type_}"
    return next((why for part in parts(type_) if (why := not_in_json(part))), None)


def holds(type_: DataType, root: TypeRoot) -> bool:
    """Whether a type is of this kind or contains one that is."""
    return type_.root is root or any(holds(part, root) for part in parts(type_))


def parts(type_: DataType) -> list[DataType]:
    """The types that a nested type is made of."""
    parts = [field.type for field in type_.fields]
    return parts + [part for part in (type_.key, type_.element) if part is not None]
