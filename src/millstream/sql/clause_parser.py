"""sqlglot's parser of queries, extended to record where a clause's keyword is and where a call ends."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from sqlglot import exp
from sqlglot import parser as sqlglot_parser
from sqlglot.tokenizer_core import TokenType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sqlglot.tokenizer_core import Token

    Clause = tuple[str, exp.Expr | None]

KEYWORD: Final = "keyword"
"""The key in a clause's meta that has the start and end of its keyword in the text."""
SELECT: Final = "select"
"""The key in the meta of a SELECT that has the start of its first word in the text."""
_MOST_JOIN_WORDS: Final = 4


def _read_clause(read: Callable[[sqlglot_parser.Parser], Clause], parser: ClauseParser) -> Clause:
    return parser.read_clause(read)


class ClauseParser(sqlglot_parser.Parser):
    QUERY_MODIFIER_PARSERS: ClassVar = {
        token: partial(_read_clause, read) for token, read in sqlglot_parser.Parser.QUERY_MODIFIER_PARSERS.items()
    }

    def read_clause(self, read: Callable[[sqlglot_parser.Parser], Clause]) -> Clause:
        keyword = self._curr
        part, clause = read(self)
        if isinstance(clause, exp.Expr):
            _remember(clause, keyword, keyword)
        return part, clause

    def _parse_select_query(
        self,
        nested: bool = False,  # noqa: FBT001, FBT002
        table: bool = False,  # noqa: FBT001, FBT002
        parse_subquery_alias: bool = True,  # noqa: FBT001, FBT002
        parse_set_operation: bool = True,  # noqa: FBT001, FBT002
    ) -> exp.Expr | None:
        first = self._curr
        query = super()._parse_select_query(nested, table, parse_subquery_alias, parse_set_operation)
        if first.token_type is TokenType.SELECT:
            select = query
            while isinstance(select, exp.SetOperation):
                select = select.this
            if isinstance(select, exp.Select):
                select.meta.setdefault(SELECT, first.start)
        return query

    def _parse_join(
        self,
        skip_join_token: bool = False,  # noqa: FBT001, FBT002
        parse_bracket: bool = False,  # noqa: FBT001, FBT002
        alias_tokens: Collection[TokenType] | None = None,
    ) -> exp.Join | None:
        words = self._tokens[self._index : self._index + _MOST_JOIN_WORDS]
        join = super()._parse_join(skip_join_token, parse_bracket, alias_tokens)
        if join is not None:
            last = next((word for word in words if word.token_type in (TokenType.JOIN, TokenType.COMMA)), words[0])
            _remember(join, words[0], last)
        return join

    def parse_set_operation(
        self,
        this: exp.Expr | None,
        consume_pipe: bool = False,  # noqa: FBT001, FBT002
        intersect_only: bool = False,  # noqa: FBT001, FBT002
    ) -> exp.SetOperation | None:
        keyword = self._curr
        operation = super().parse_set_operation(this, consume_pipe, intersect_only)
        if operation is not None:
            _remember(operation, keyword, keyword)
        return operation

    def _match_r_paren(self, expression: exp.Expr | None = None) -> None:
        """sqlglot records the position of a call's name; its closing parenthesis belongs to the call as well."""
        super()._match_r_paren(expression)
        if isinstance(expression, exp.Anonymous):
            expression.meta["end"] = self._prev.end


def _remember(clause: exp.Expr, first: Token, last: Token) -> None:
    clause.meta[KEYWORD] = (first.start, last.end + 1)
