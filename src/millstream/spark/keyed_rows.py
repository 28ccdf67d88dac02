"""Normalise and materialise on the kernel host.

Inside, columns are called by number: PySpark looks them up unquoted, and a user's name may have dots in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from millstream.changelog import KIND
from millstream.kernels.materialise import MaterialiseOperator
from millstream.kernels.normalise import NormaliseOperator
from millstream.spark.kernel_host import hash_columns, host
from millstream.spark.types import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql.types import DataType

    from millstream.kernels.operator import Operator
    from millstream.plan.nodes import Materialise, Normalise
    from millstream.spark.crossing import Crossing, Rows
    from millstream.spark.kernel_host import Hosting


def normalise(rows: Rows, node: Normalise, hosting: Hosting) -> Crossing:
    numbered = _numbered(rows)
    operator = NormaliseOperator(numbered.of(node.keys), numbered.schema, node.emits_before, expires=hosting.expires)
    return numbered.through(operator, hosting)


def materialise(rows: Rows, node: Materialise, hosting: Hosting) -> Crossing:
    numbered = _numbered(rows)
    operator = MaterialiseOperator(numbered.of(node.keys), numbered.schema, numbered.of(node.upsert_key))
    return numbered.through(operator, hosting)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """Rows whose columns have numbers for names."""

    rows: Rows
    names: dict[str, str]
    """What each column of the user's is called inside."""

    @property
    def schema(self) -> pa.Schema:
        return to_arrow_schema(_nullable(self.rows.select(*self.names.values()).schema), timezone="UTC")

    def of(self, columns: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.names[name] for name in columns)

    def through(self, operator: Operator, hosting: Hosting) -> Crossing:
        return host(self.rows.withColumns(hash_columns(operator)), operator, hosting).then(
            lambda changes: changes.select(*(F.col(inside).alias(name) for name, inside in self.names.items()), KIND)
        )


def _nullable(row: StructType) -> StructType:
    """The kernels keep a row as one value, and of a row that is gone every column is NULL."""
    return StructType([StructField(field.name, _nullable_inside(field.dataType)) for field in row.fields])


def _nullable_inside(type_: DataType) -> DataType:
    match type_:
        case StructType():
            return _nullable(type_)
        case ArrayType():
            return ArrayType(_nullable_inside(type_.elementType))
        case MapType():
            return MapType(_nullable_inside(type_.keyType), _nullable_inside(type_.valueType))
        case _:
            return type_


def _numbered(rows: Rows) -> _Numbered:
    names = {name: f"column{number}" for number, name in enumerate(rows.columns) if name != KIND}
    kind = [F.col(KIND)] if KIND in rows.columns else []
    return _Numbered(rows.select(*(F.col(quoted(name)).alias(inside) for name, inside in names.items()), *kind), names)
