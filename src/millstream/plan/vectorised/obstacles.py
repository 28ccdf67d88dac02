"""Why an expression is left to Spark."""

from __future__ import annotations


class NotVectorisedError(Exception):
    """Names what has no form on Arrow data, e.g. `REGEXP` or `CAST(STRING AS DATE)`."""
