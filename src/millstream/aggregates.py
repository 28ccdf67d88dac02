"""The aggregate functions by their SQL names: the plan and the kernels speak of the same ones."""

from __future__ import annotations

from enum import StrEnum


class AggregateFunction(StrEnum):
    COUNT_STAR = "COUNT(*)"
    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    STDDEV_POP = "STDDEV_POP"
    STDDEV_SAMP = "STDDEV_SAMP"
    VAR_POP = "VAR_POP"
    VAR_SAMP = "VAR_SAMP"
    FIRST_VALUE = "FIRST_VALUE"
    LAST_VALUE = "LAST_VALUE"
    LISTAGG = "LISTAGG"
    ARRAY_AGG = "ARRAY_AGG"
    COLLECT = "COLLECT"
