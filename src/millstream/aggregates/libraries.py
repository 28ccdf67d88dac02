"""Polars and Arrow for the modules of aggregate functions, loaded on first use.

A module has a function's signature beside its accumulator, and compiling a script needs only the signature.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["pa", "pl"]


class LazyModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
else:
    pl = LazyModule("polars")
    pa = LazyModule("pyarrow")
