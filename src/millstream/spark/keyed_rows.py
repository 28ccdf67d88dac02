"""Normalise and materialise on the kernel host.

Columns have numbers for names inside: PySpark looks names up unquoted, and a user's name may contain dots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.changelog import KIND
from millstream.kernels.materialise import MaterialiseOperator
from millstream.kernels.normalise import NormaliseOperator
from millstream.kernels.operator import ROWS
from millstream.spark.comparable import kernel_schema
from millstream.spark.kernel_host import host
from millstream.spark.python_rows import ColumnUse, prepare_columns, schema_of, struct_of
from millstream.spark.splits import SPLIT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import pyarrow as pa

    from millstream.kernels.operator import Operator
    from millstream.plan.operators.materialise import Materialise
    from millstream.plan.operators.normalise import Normalise
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import InputRows, PythonStage


def normalise(rows: InputRows, node: Normalise, kernel_settings: KernelSettings) -> PythonStage:
    numbered = _number(rows, node.keys)
    operator = NormaliseOperator(
        numbered.of(node.keys), numbered.schema, node.emits_before, expires=kernel_settings.expires
    )
    return numbered.through(operator, node.id, kernel_settings)


def materialise(rows: InputRows, node: Materialise, kernel_settings: KernelSettings) -> PythonStage:
    numbered = _number(rows, {*node.keys, *node.replaced_by})
    operator = MaterialiseOperator(numbered.of(node.keys), numbered.schema, numbered.of(node.replaced_by))
    return numbered.through(operator, node.id, kernel_settings)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """Rows whose columns have numbers for names."""

    rows: InputRows
    uses: list[ColumnUse]

    @property
    def schema(self) -> pa.Schema:
        return kernel_schema(struct_of(self.uses))

    def of(self, columns: Iterable[str]) -> tuple[str, ...]:
        names = {use.source: use.name for use in self.uses}
        return tuple(names[name] for name in columns)

    def through(self, operator: Operator, id_: str, kernel_settings: KernelSettings) -> PythonStage:
        columns = {use.source: use.name for use in self.uses}
        return host({ROWS: self.rows}, operator, id_, kernel_settings, {**columns, KIND: KIND})


def _number(rows: InputRows, keys: Collection[str]) -> _Numbered:
    fields = [field for field in schema_of(rows).fields if field.name not in (KIND, SPLIT)]
    uses = [
        ColumnUse(field.name, f"column{number}", field.dataType, is_compared=field.name in keys)
        for number, field in enumerate(fields)
    ]
    return _Numbered(prepare_columns(rows, uses), uses)
