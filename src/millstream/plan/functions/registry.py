"""Every function by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.functions import (
    aggregates,
    arithmetic,
    collection,
    comparison,
    conditional,
    json,
    missing,
    temporal,
    text,
    windows,
)
from millstream.spelling import nearest

if TYPE_CHECKING:
    from millstream.sql.functions import Function, Missing

FUNCTIONS: Final[dict[str, Function]] = {
    function.name: function
    for function in (
        *comparison.FUNCTIONS,
        *arithmetic.FUNCTIONS,
        *text.FUNCTIONS,
        *text.HASHES,
        *temporal.FUNCTIONS,
        *conditional.FUNCTIONS,
        *collection.FUNCTIONS,
        *json.FUNCTIONS,
        *aggregates.FUNCTIONS,
        *windows.FUNCTIONS,
    )
}
MISSING: Final[dict[str, Missing]] = {function.name: function for function in missing.MISSING}
RANDOM_FUNCTIONS: Final = frozenset({"RAND", "RAND_INTEGER", "UUID"})
"""Those that give another value each time."""
AGGREGATES: Final = frozenset(name for name, function in FUNCTIONS.items() if function.is_aggregate)


def nearest_function(name: str, others: tuple[str, ...] = ()) -> str | None:
    """The function that was perhaps meant."""
    words = [known for known in (*FUNCTIONS, *MISSING, *others) if known.replace("_", "").isalnum()]
    return nearest(name, words)
