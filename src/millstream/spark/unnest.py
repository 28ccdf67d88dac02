"""UNNEST: in Python where the rows are there, else by Spark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from millstream.changelog import KIND
from millstream.plan.operators.unnest import PartKind
from millstream.plan.vectorised.elements import elements_of
from millstream.spark.comparable import kernel_schema
from millstream.spark.python_stage import to_struct
from millstream.spark.splits import SPLIT, split_columns
from millstream.spark.types import quote_name, spark_schema
from millstream.sql.types import TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame

    from millstream.plan.operators.unnest import ElementPart, Unnest
    from millstream.spark.python_stage import PythonStage

    Part = tuple[PartKind, str]

_ROWS_TOGETHER: Final = 1 << 16
"""A few rows may have many elements."""


def unnest(rows: DataFrame, node: Unnest) -> DataFrame:
    kept = [F.col(quote_name(name)) for name in node.kept]
    kind = [F.col(KIND)] if KIND in rows.columns else []
    elements = F.transform(_to_array(node), partial(_struct_of, node.parts))
    explode = F.inline_outer if node.keeps_rows else F.inline
    return rows.select(*kept, explode(elements), *kind, *split_columns(rows))


def _to_array(node: Unnest) -> Column:
    """A map as its entries, a multiset as its elements."""
    collection = F.col(quote_name(node.collection))
    match node.collection_type.root:
        case TypeRoot.MAP:
            return F.map_entries(collection)
        case TypeRoot.MULTISET:
            return F.flatten(F.transform(F.map_entries(collection), lambda e: F.array_repeat(e["key"], e["value"])))
        case _:
            return collection


def _struct_of(parts: Sequence[ElementPart], element: Column, index: Column) -> Column:
    def part_of(part: ElementPart) -> Column:
        match part.kind:
            case PartKind.ELEMENT:
                return element
            case PartKind.ORDINALITY:
                return index + F.lit(1)
            case PartKind.FIELD:
                return element[part.field]
            case _:
                return element[str(part.kind)]

    return F.struct(*(part_of(part).alias(part.name) for part in parts))


def unnest_in_python(rows: PythonStage, node: Unnest) -> PythonStage:
    schema = rows.row_schema
    made = to_struct(spark_schema((part.name, part.type) for part in node.parts))
    beside = [name for name in (KIND, SPLIT) if name in schema.names]
    struct = StructType([*(schema[name] for name in node.kept), *made.fields, *(schema[name] for name in beside)])
    step = partial(
        unnest_batches,
        node.collection,
        tuple((part.kind, part.field) for part in node.parts),
        kernel_schema(struct),
        len(node.kept),
        is_multiset=node.collection_type.root is TypeRoot.MULTISET,
        keeps_rows=node.keeps_rows,
    )
    return rows.pipe(step, struct)


def unnest_batches(
    collection: str,
    parts: Sequence[Part],
    schema: pa.Schema,
    first: int,
    batches: Iterator[pa.RecordBatch],
    *,
    is_multiset: bool,
    keeps_rows: bool,
) -> Iterator[pa.RecordBatch]:
    """`parts` are the columns of the schema from number `first` on.

    Passes on batches with no rows left, too: skipping them would let this reader run ahead of the others.
    """
    names = [*schema.names[:first], *schema.names[first + len(parts) :]]
    for batch in batches:
        elements = elements_of(batch.column(collection), is_multiset=is_multiset, keeps_rows=keeps_rows)
        rows = batch.select(names)
        for start in range(0, max(len(elements), 1), _ROWS_TOGETHER):
            end = min(start + _ROWS_TOGETHER, len(elements))
            around = rows.take(pa.array(elements.rows[start:end])).columns
            own = [elements.part(kind, field, start, end) for kind, field in parts]
            columns = zip((*around[:first], *own, *around[first:]), schema, strict=True)
            arrays = [
                column if column.type.equals(field.type) else column.cast(field.type) for column, field in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
