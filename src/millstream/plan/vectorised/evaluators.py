"""A compiled expression: evaluated on a batch, it gives an array, or a scalar where all rows have the same value.

Spark computes only what a row needs: in `CASE WHEN n <> 0 THEN 1 / n END` no row is divided by zero. So a part that may
fail is evaluated only on the rows that come to it; any other part on all rows, which is cheaper.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Datum: TypeAlias = pa.Array | pa.Scalar


class ExpressionError(Exception):
    """An expression has no value for a row; worded like Spark's, so that both are reported alike."""


class TooLargeError(Exception):
    """The values of a batch would be too large together; those of its halves may not be."""


class Evaluator(ABC):
    @property
    @abstractmethod
    def parts(self) -> tuple[Evaluator, ...]: ...

    @cached_property
    def may_fail(self) -> bool:
        return any(part.may_fail for part in self.parts)

    @cached_property
    def columns(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.columns for part in self.parts))

    @abstractmethod
    def evaluate(self, rows: pa.RecordBatch) -> Datum: ...

    def evaluate_where(self, rows: pa.RecordBatch, mask: Datum) -> Datum:
        """The values of the rows that `mask` is true for; those of other rows mean nothing."""
        if not self.may_fail:
            return self.evaluate(rows)
        chosen = to_mask(mask, rows.num_rows)
        if chosen.all():
            return self.evaluate(rows)
        places = np.flatnonzero(chosen)
        found = self.evaluate(_select(rows, self.columns).take(pa.array(places)))
        if isinstance(found, pa.Scalar):
            return found
        at = np.full(rows.num_rows, -1)
        at[places] = np.arange(len(places))
        return found.take(pa.array(at, mask=at < 0))


@dataclass(frozen=True)
class ColumnValue(Evaluator):
    name: str
    type: pa.DataType

    @property
    def parts(self) -> tuple[Evaluator, ...]:
        return ()

    @cached_property
    def columns(self) -> frozenset[str]:
        return frozenset({self.name})

    def evaluate(self, rows: pa.RecordBatch) -> Datum:
        column = rows.column(self.name)
        return column if column.type.equals(self.type) else column.cast(self.type)


@dataclass(frozen=True)
class Literal(Evaluator):
    array: pa.Array
    """Of one row: a scalar cannot be pickled if it is a time beyond Python's years."""

    @classmethod
    def of(cls, value: object, type_: pa.DataType) -> Literal:
        return cls(pa.array([value], type_))

    @property
    def parts(self) -> tuple[Evaluator, ...]:
        return ()

    @property
    def scalar(self) -> pa.Scalar:
        return self.array[0]

    def evaluate(self, rows: pa.RecordBatch) -> Datum:  # noqa: ARG002
        return self.scalar


@dataclass(frozen=True)
class Apply(Evaluator):
    """A function of whole arrays, NULLs included; at least one of its arguments is an array, others may be scalars.

    It must be importable, since workers receive it by its name.
    """

    function: Callable[..., Any]
    arguments: tuple[Evaluator, ...]
    can_fail: bool = False

    @property
    def parts(self) -> tuple[Evaluator, ...]:
        return self.arguments

    @cached_property
    def may_fail(self) -> bool:
        return self.can_fail or any(part.may_fail for part in self.arguments)

    def evaluate(self, rows: pa.RecordBatch) -> Datum:
        values = [argument.evaluate(rows) for argument in self.arguments]
        if not all(isinstance(value, pa.Scalar) for value in values):
            result: pa.Array = self.function(*values)
            return result
        if rows.num_rows:
            return self.function(*(pa.repeat(value, 1) for value in values))[0]
        return pa.scalar(None, self.function(*(pa.repeat(value, 0) for value in values)).type)


class Shared(Evaluator):
    """A part that occurs several times, evaluated once per batch."""

    def __init__(self, value: Evaluator) -> None:
        self._value = value
        self._last: tuple[pa.RecordBatch, Datum] | None = None

    def __reduce__(self) -> tuple[type[Shared], tuple[Evaluator]]:
        return Shared, (self._value,)

    @property
    def parts(self) -> tuple[Evaluator, ...]:
        return (self._value,)

    def evaluate(self, rows: pa.RecordBatch) -> Datum:
        if self._last is None or self._last[0] is not rows:
            self._last = rows, self._value.evaluate(rows)
        return self._last[1]

    def evaluate_where(self, rows: pa.RecordBatch, mask: Datum) -> Datum:
        is_known = self._last is not None and self._last[0] is rows
        return self.evaluate(rows) if is_known else super().evaluate_where(rows, mask)


def share(evaluator: Evaluator) -> Evaluator:
    return evaluator if isinstance(evaluator, ColumnValue | Literal | Shared) else Shared(evaluator)


@dataclass(frozen=True)
class And(Evaluator):
    """The right side counts where the left one is not false."""

    left: Evaluator
    right: Evaluator

    @property
    def parts(self) -> tuple[Evaluator, ...]:
        return self.left, self.right

    def evaluate(self, rows: pa.RecordBatch) -> Datum:
        left = self.left.evaluate(rows)
        return pc.and_kleene(left, self.right.evaluate_where(rows, pc.fill_null(left, fill_value=True)))


@dataclass(frozen=True)
class Or(Evaluator):
    """The right side counts where the left one is not true."""

    left: Evaluator
    right: Evaluator

    @property
    def parts(self) -> tuple[Evaluator, ...]:
        return self.left, self.right

    def evaluate(self, rows: pa.RecordBatch) -> Datum:
        left = self.left.evaluate(rows)
        is_open = pc.invert(pc.fill_null(left, fill_value=False))
        return pc.or_kleene(left, self.right.evaluate_where(rows, is_open))


@dataclass(frozen=True)
class Case(Evaluator):
    branches: tuple[tuple[Evaluator, Evaluator], ...]
    default: Evaluator

    @property
    def parts(self) -> tuple[Evaluator, ...]:
        return (*(part for branch in self.branches for part in branch), self.default)

    def evaluate(self, rows: pa.RecordBatch) -> Datum:
        is_open: Datum = pa.scalar(True)
        chosen: list[tuple[Datum, Datum]] = []
        for condition, value in self.branches:
            is_true = pc.fill_null(condition.evaluate_where(rows, is_open), fill_value=False)
            is_here = pc.and_(is_open, is_true)
            chosen.append((is_here, value.evaluate_where(rows, is_here)))
            is_open = pc.and_(is_open, pc.invert(is_true))
        result = self.default.evaluate_where(rows, is_open)
        for is_here, value in reversed(chosen):
            result = pc.if_else(is_here, value, result)
        return result


@dataclass(frozen=True)
class Coalesce(Evaluator):
    values: tuple[Evaluator, ...]

    @property
    def parts(self) -> tuple[Evaluator, ...]:
        return self.values

    def evaluate(self, rows: pa.RecordBatch) -> Datum:
        result = self.values[0].evaluate(rows)
        for value in self.values[1:]:
            missing = pc.is_null(result)
            result = pc.if_else(missing, value.evaluate_where(rows, missing), result)
        return result


def to_array(value: Datum, count: int) -> pa.Array:
    return pa.repeat(value, count) if isinstance(value, pa.Scalar) else value


def to_mask(condition: Datum, count: int) -> NDArray[np.bool_]:
    """Where a condition is true; NULL is not."""
    array = to_array(condition, count)
    mask: NDArray[np.bool_] = pc.fill_null(array, fill_value=False).to_numpy(zero_copy_only=False)
    return mask


def _select(rows: pa.RecordBatch, columns: frozenset[str]) -> pa.RecordBatch:
    """Only these columns; a batch without any would not know its number of rows."""
    return rows.select(sorted(columns)) if columns else rows
