"""All aggregate functions by name, as the modules of `functions/` declare them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Final

from millstream.aggregates import functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.aggregates.record import AggregateFunction


def _records() -> Iterator[AggregateFunction]:
    for module in iter_modules(functions.__path__, f"{functions.__name__}."):
        yield from import_module(module.name).FUNCTIONS


AGGREGATES: Final[dict[str, AggregateFunction]] = {record.name: record for record in _records()}
_SYNONYMS: Final = {name: record for record in AGGREGATES.values() for name in record.synonyms}


def aggregate_function(name: str) -> AggregateFunction:
    """The function of this name or synonym."""
    return AGGREGATES.get(name) or _SYNONYMS[name]
