"""Millstream runs Flink-SQL-style scripts over Kafka tables as Spark Structured Streaming jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.catalog.functions import udf
    from millstream.errors import MillstreamError
    from millstream.runtime.session import Session

__all__ = ["MillstreamError", "Session", "__version__", "udf"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Spark's workers import this package too: what they do not need is loaded when it is asked for."""
    if name == "Session":
        from millstream.runtime.session import Session

        return Session
    if name == "MillstreamError":
        from millstream.errors import MillstreamError

        return MillstreamError
    if name == "udf":
        from millstream.catalog.functions import udf

        return udf
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
