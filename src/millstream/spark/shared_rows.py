"""One reader's view of rows that several readers read in the same pass.

Rows that it drops stay for the others, and what it computes is added beside their columns; so its columns keep their
own names, and those of the others are hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from millstream.spark.types import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_PASSES: Final = "__passes"


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Can be used like the DataFrame that its reader would have alone."""

    frame: DataFrame
    columns: tuple[str, ...]
    carried: tuple[str, ...]
    """Columns of the frame that the reader does not see."""
    is_filtered: bool = False

    @property
    def schema(self) -> StructType:
        return self.frame.select(*self._visible_columns()).schema

    def where(self, condition: Column) -> SharedRows:
        """Later expressions are not evaluated for rows that are dropped here: they might fail on them."""
        condition = F.when(F.col(_PASSES), condition) if self.is_filtered else condition
        frame = self.frame.withColumn(_PASSES, F.coalesce(condition, F.lit(False)))
        return replace(self, frame=frame, is_filtered=True)

    def select(self, *columns: Column | str) -> SharedRows:
        named = [F.col(quote_name(column)) if isinstance(column, str) else column for column in columns]
        names = tuple(self.frame.select(*named).columns)
        if self.is_filtered:
            pairs = zip(named, names, strict=True)
            named = [F.when(F.col(_PASSES), column).alias(name) for column, name in pairs]
        return replace(self, frame=self.frame.select(*named, *self._hidden_columns()), columns=names)

    def withColumns(self, columns: Mapping[str, Column]) -> SharedRows:  # noqa: N802
        kept = (name for name in self.columns if name not in columns)
        return self.select(*kept, *(column.alias(name) for name, column in columns.items()))

    def set_aside(self, names: Mapping[str, str], passes: str | None) -> DataFrame:
        """The frame for the next reader: this one's columns under other names, and its flag as `passes`."""
        renamed = [F.col(quote_name(name)).alias(hidden) for name, hidden in names.items()]
        flag = [] if passes is None else [F.col(_PASSES).alias(passes)]
        return self.frame.select(*map(F.col, self.carried), *renamed, *flag)

    def _visible_columns(self) -> list[Column]:
        return [F.col(quote_name(name)) for name in self.columns]

    def _hidden_columns(self) -> list[Column]:
        return [F.col(name) for name in (*self.carried, *([_PASSES] if self.is_filtered else []))]
