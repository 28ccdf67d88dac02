"""How row kinds travel through a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import KIND, RowKind

if TYPE_CHECKING:
    from pyspark.sql import Column

    from millstream.spark.python_stage import Rows

RETRACTIONS: Final = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


def is_retraction(rows: Rows) -> Column:
    """Whether a row is a retraction; a stream without kinds is insert-only."""
    if KIND not in rows.columns:
        return F.lit(False)
    return F.col(KIND).isin([int(kind) for kind in RETRACTIONS])
