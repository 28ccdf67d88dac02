"""Every function by its name."""

from __future__ import annotations

import difflib
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
)

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
    )
}
MISSING: Final[dict[str, Missing]] = {function.name: function for function in missing.MISSING}
AGGREGATES: Final = frozenset(name for name, function in FUNCTIONS.items() if function.is_aggregate)


def nearest(name: str, others: tuple[str, ...] = ()) -> str | None:
    """The function that was perhaps meant."""
    words = [known for known in (*FUNCTIONS, *MISSING, *others) if known.replace("_", "").isalnum()]
    return next(iter(difflib.get_close_matches(name.upper(), words, n=1, cutoff=0.6)), None)
