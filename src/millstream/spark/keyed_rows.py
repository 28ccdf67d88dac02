"""Normalise and materialise on the kernel host.

Columns have numbers for names inside: PySpark looks names up unquoted, and a user's name may contain dots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import KIND
from millstream.kernels.materialise import MaterialiseOperator
from millstream.kernels.normalise import NormaliseOperator
from millstream.kernels.operator import ROWS
from millstream.spark.comparable import alike, kernel_schema
from millstream.spark.kernel_host import host
from millstream.spark.splits import SPLIT, split_columns
from millstream.spark.types import quote_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import pyarrow as pa
    from pyspark.sql import Column

    from millstream.kernels.operator import Operator
    from millstream.plan.operators.materialise import Materialise
    from millstream.plan.operators.normalise import Normalise
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import PythonStage, Rows


def normalise(rows: Rows, node: Normalise, kernel_settings: KernelSettings) -> PythonStage:
    numbered = _number(rows, node.keys)
    operator = NormaliseOperator(
        numbered.of(node.keys), numbered.schema, node.emits_before, expires=kernel_settings.expires
    )
    return numbered.through(operator, node.id, kernel_settings)


def materialise(rows: Rows, node: Materialise, kernel_settings: KernelSettings) -> PythonStage:
    numbered = _number(rows, {*node.keys, *node.replaced_by})
    operator = MaterialiseOperator(numbered.of(node.keys), numbered.schema, numbered.of(node.replaced_by))
    return numbered.through(operator, node.id, kernel_settings)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """Rows whose columns have numbers for names."""

    rows: Rows
    names: dict[str, str]
    """The inner name of each of the user's columns."""

    @property
    def schema(self) -> pa.Schema:
        return kernel_schema(self.rows.select(*self.names.values()).schema)

    def of(self, columns: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.names[name] for name in columns)

    def through(self, operator: Operator, id_: str, kernel_settings: KernelSettings) -> PythonStage:
        return host({ROWS: self.rows}, operator, id_, kernel_settings).then(
            lambda changes: changes.select(*(F.col(inside).alias(name) for name, inside in self.names.items()), KIND)
        )


def _number(rows: Rows, keys: Collection[str]) -> _Numbered:
    names = {name: f"column{number}" for number, name in enumerate(rows.columns) if name not in (KIND, SPLIT)}
    kind = [F.col(KIND)] if KIND in rows.columns else []

    def column(name: str) -> Column:
        value = F.col(quote_name(name))
        return alike(value, rows.schema[name].dataType) if name in keys else value

    columns = (column(name).alias(inside) for name, inside in names.items())
    return _Numbered(rows.select(*columns, *kind, *split_columns(rows)), names)
