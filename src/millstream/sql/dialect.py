"""Flink SQL as a sqlglot dialect: its keywords, quotes, comments and expressions.

DDL statements are parsed by this package from the same tokens; queries and expressions by sqlglot.
"""

from __future__ import annotations

from typing import ClassVar, Final

from sqlglot import tokens
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.tokenizer_core import TokenType

from millstream.sql.expression_parser import ExpressionParser
from millstream.sql.expression_writer import ExpressionWriter

_NOT_FLINKS: Final = (TokenType.COMMAND, TokenType.SESSION)
"""Flink passes no statement on as raw text, and SESSION is the name of a window."""


class Flink(Dialect):
    """The dialect registers itself with sqlglot under the name `flink`."""

    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_SENSITIVE
    NULL_ORDERING = "nulls_are_small"
    TYPED_DIVISION = True
    SAFE_DIVISION = False

    class Tokenizer(tokens.Tokenizer):
        QUOTES: ClassVar = ["'"]
        IDENTIFIERS: ClassVar = ["`"]
        STRING_ESCAPES: ClassVar = ["'"]
        COMMENTS: ClassVar = ["--", ("/*", "*/")]
        HEX_STRINGS: ClassVar = [("x'", "'"), ("X'", "'")]
        COMMANDS: ClassVar = set()
        KEYWORDS: ClassVar = {
            **{word: token for word, token in tokens.Tokenizer.KEYWORDS.items() if token not in _NOT_FLINKS},
            "BYTES": TokenType.VARBINARY,
            "STRING": TokenType.TEXT,
        }

    Parser = ExpressionParser
    Generator = ExpressionWriter
