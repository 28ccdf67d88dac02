"""Millstream runs Flink-SQL-style scripts over Kafka tables as Spark Structured Streaming jobs.

What is exported here is the public API; every other module may change from version to version.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from millstream.catalog.functions import udf
    from millstream.catalog.table_functions import udtf
    from millstream.errors import (
        BrokerError,
        Code,
        Diagnostic,
        InternalError,
        JobError,
        MillstreamError,
        ScriptError,
        SetupError,
    )
    from millstream.plan.program import JobPlan, Listing, Program, Text
    from millstream.runtime.events import JobEvent, JobGoesOn, JobWaits, MessagesLost
    from millstream.runtime.job import Job
    from millstream.runtime.progress import JobProgress, SourceLag
    from millstream.runtime.session import Session
    from millstream.state.job_state import OperatorSize, TableSize

__all__ = [
    "BrokerError",
    "Code",
    "Diagnostic",
    "InternalError",
    "Job",
    "JobError",
    "JobEvent",
    "JobGoesOn",
    "JobPlan",
    "JobProgress",
    "JobWaits",
    "Listing",
    "MessagesLost",
    "MillstreamError",
    "OperatorSize",
    "Program",
    "ScriptError",
    "Session",
    "SetupError",
    "SourceLag",
    "TableSize",
    "Text",
    "__version__",
    "udf",
    "udtf",
]

__version__ = "0.1.0"

_MODULES: Final = {
    "catalog.functions": ("udf",),
    "catalog.table_functions": ("udtf",),
    "errors": (
        "BrokerError",
        "Code",
        "Diagnostic",
        "InternalError",
        "JobError",
        "MillstreamError",
        "ScriptError",
        "SetupError",
    ),
    "plan.program": ("JobPlan", "Listing", "Program", "Text"),
    "runtime.events": ("JobEvent", "JobGoesOn", "JobWaits", "MessagesLost"),
    "runtime.job": ("Job",),
    "runtime.progress": ("JobProgress", "SourceLag"),
    "runtime.session": ("Session",),
    "state.job_state": ("OperatorSize", "TableSize"),
}


def __getattr__(name: str) -> Any:
    """Spark's workers import this package too: what they do not need is loaded when it is first used."""
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
