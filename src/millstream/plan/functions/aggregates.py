"""Aggregates: declared by their records, computed by an operator of their own."""

from __future__ import annotations

from typing import Final

from millstream.aggregates.registry import AGGREGATES
from millstream.sql.functions import Category, Function, Nulls, Parameter, signature
from millstream.sql.types import BIGINT

_GROUPING: Final = signature(Parameter("value"), gives=BIGINT, repeats=True, nulls=Nulls.NEVER)

FUNCTIONS: Final = (
    *(function for record in AGGREGATES.values() for function in record.declarations),
    # Constants per grouping set, which stand where aggregates may.
    Function("GROUPING", Category.AGGREGATE, (_GROUPING,), None),
    Function("GROUPING_ID", Category.AGGREGATE, (_GROUPING,), None),
    Function("GROUP_ID", Category.AGGREGATE, (signature(gives=BIGINT, nulls=Nulls.NEVER),), None),
)
