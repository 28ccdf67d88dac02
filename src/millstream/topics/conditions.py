"""Which messages `--where` keeps: a condition in SQL on the columns of their table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import PolarsError

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.topics.rows import ReadMessage


@dataclass(slots=True)
class Condition:
    """Messages that lack a column which it names are not kept; one that none of them has is reported in the end."""

    written: str
    _expression: pl.Expr = field(init=False)
    _known: dict[str, None] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        try:
            self._expression = pl.sql_expr(self.written)
        except PolarsError as error:
            raise self._wrong(str(error)) from error

    def keep(self, messages: Sequence[ReadMessage]) -> list[ReadMessage]:
        rows = [read.columns for read in messages]
        named = self._expression.meta.root_names()
        self._known |= dict.fromkeys(name for row in rows for name in row)
        complete = [at for at, row in enumerate(rows) if all(name in row for name in named)]
        if not complete:
            return []
        frame = pl.DataFrame(
            [{name: rows[at][name] for name in named} for at in complete], infer_schema_length=None, strict=False
        ).with_columns(pl.Series("", complete))
        try:
            kept = frame.filter(self._expression)
        except PolarsError as error:
            raise self._wrong(str(error)) from error
        return [messages[at] for at in kept[""]]

    def require_columns(self) -> None:
        """Raises if no message so far had one of the columns."""
        if not self._known:
            return
        for name in self._expression.meta.root_names():
            if name not in self._known:
                near = nearest(name, list(self._known))
                hint = f'Did you mean "{near}"?' if near else f"There are: {', '.join(self._known)}."
                raise ScriptError(Diagnostic(Code.BAD_ARGUMENT, f'no message has a column "{name}"', hint=hint))

    def _wrong(self, why: str) -> ScriptError:
        return ScriptError(
            Diagnostic(
                Code.BAD_ARGUMENT,
                f'--where "{self.written}" cannot be evaluated',
                detail=why.splitlines()[0],
                hint="Write a condition on columns of the table, e.g. --where \"price > 100 AND region = 'north'\".",
            )
        )
