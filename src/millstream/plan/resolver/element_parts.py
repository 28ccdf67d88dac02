"""The columns of what is unnested, by the type of the collection, with the names that they have by default."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.functions.results import bare
from millstream.plan.operators.unnest import ElementPart, PartKind
from millstream.sql.types import INT, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.source import Span
    from millstream.sql.types import DataType


def parts_of(type_: DataType, *, with_ordinality: bool, is_left: bool, place: Span) -> list[ElementPart]:
    """`is_left`: a row without elements stays, so that every part may be NULL."""
    parts = list(_parts_of_element(type_, place))
    if with_ordinality:
        parts.append(ElementPart("ORDINALITY", INT.not_null(), PartKind.ORDINALITY))
    return [replace(part, type=part.type.or_null()) for part in parts] if is_left else parts


def _parts_of_element(type_: DataType, place: Span) -> Iterator[ElementPart]:
    element = type_.element
    if element is None:
        raise ScriptError(
            Diagnostic(
                Code.TYPE_MISMATCH,
                f"UNNEST takes an ARRAY, a MAP or a MULTISET, not {bare(type_)}",
                place,
                hint="A text is divided by SPLIT(text, ','), which gives an ARRAY.",
            )
        )
    if type_.root is TypeRoot.MAP:
        assert type_.key is not None
        yield ElementPart("KEY", type_.key, PartKind.KEY)
        yield ElementPart("VALUE", element, PartKind.VALUE)
    elif element.root is TypeRoot.ROW:
        for field in element.fields:
            of_field = field.type.or_null() if element.nullable else field.type
            yield ElementPart(field.name, of_field, PartKind.FIELD, field.name)
    else:
        yield ElementPart("EXPR$0", element, PartKind.ELEMENT)
