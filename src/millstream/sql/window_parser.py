"""Window functions after FROM: `TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR))`.

Such a call becomes an `exp.Table` of an `exp.Anonymous`, of which the first argument is a table or a query, and an
argument by name an `exp.Kwarg`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millstream.sql.clause_parser import ClauseParser
from millstream.sql.slips import is_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot.tokenizer_core import Token

DATA: Final = "DATA"
TIME: Final = "TIMECOL"
OFFSET: Final = "OFFSET"
GAP: Final = "GAP"
WINDOW_PARAMETERS: Final = {
    "TUMBLE": (DATA, TIME, "SIZE", OFFSET),
    "HOP": (DATA, TIME, "SLIDE", "SIZE", OFFSET),
    "CUMULATE": (DATA, TIME, "STEP", "SIZE", OFFSET),
    "SESSION": (DATA, TIME, GAP),
}
"""The names of the parameters of each window function, in order; only the offset may be left out."""
PARTITION: Final = "partition_by"
"""The part of a table that is an argument which says how its rows are divided."""


def window_call(tokens: Sequence[Token], index: int) -> bool:
    """Whether a call of a window function begins here, if a table can be used here."""
    name, opening = [*tokens[index : index + 2], None, None][:2]
    return is_mark(name, *WINDOW_PARAMETERS) and is_mark(opening, "(")


class WindowParser(ClauseParser):
    def _parse_table(self, *arguments: Any, **options: Any) -> exp.Expr | None:
        index = self._index
        is_wrapped = is_mark(self._curr, "TABLE") and is_mark(self._next, "(")
        if not window_call(self._tokens, index + 2 * is_wrapped):
            return super()._parse_table(*arguments, **options)
        if is_wrapped:
            self._advance(2)
        table = self.expression(exp.Table(this=self._parse_window_call()))
        if is_wrapped:
            self._match_r_paren()
        if alias := self._parse_table_alias(options.get("alias_tokens") or self.TABLE_ALIAS_TOKENS):
            table.set("alias", alias)
        for join in self._parse_joins() if options.get("joins") else ():
            table.append("joins", join)
        return table

    def _parse_window_call(self) -> exp.Anonymous:
        name = self._curr
        self._advance(2)
        call = exp.Anonymous(this=name.text.upper(), expressions=self._parse_csv(self._parse_window_argument))
        self._match_r_paren()
        call.update_positions(name)
        call.meta["end"] = self._prev.end
        return call

    def _parse_window_argument(self) -> exp.Expr | None:
        if not is_mark(self._next, "=>"):
            return self._parse_window_value()
        name = self._curr
        self._advance(2)
        value = self._parse_window_value()
        if value is None:
            self.raise_error("Expecting an expression")
        return exp.Kwarg(this=exp.Var(this=name.text.upper()).update_positions(name), expression=value)

    def _parse_window_value(self) -> exp.Expr | None:
        """A table, a query or any other argument."""
        if self._match(TokenType.TABLE):
            table = self._parse_wrapped_table() if is_mark(self._curr, "(") else self._parse_table_parts()
            if table is not None and self._match(TokenType.PARTITION_BY):
                is_listed = self._match(TokenType.L_PAREN)
                table.set(PARTITION, self._parse_csv(self._parse_column) if is_listed else [self._parse_column()])
                if is_listed:
                    self._match_r_paren()
            return table
        if is_mark(self._curr, "(") and is_mark(self._next, "SELECT", "WITH", "VALUES", "("):
            return self._parse_select(table=True, parse_subquery_alias=False)
        return self._parse_disjunction()

    def _parse_wrapped_table(self) -> exp.Expr | None:
        """`TABLE(t)`, which is `TABLE t`, or a query."""
        if is_mark(self._next, "SELECT", "WITH", "VALUES", "("):
            return self._parse_select(table=True, parse_subquery_alias=False)
        self._match_l_paren()
        table = self._parse_table_parts()
        self._match_r_paren()
        return table
