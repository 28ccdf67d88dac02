"""Flink SQL as a sqlglot dialect: its words, quotes and comments, and its expressions.

Statements of the DDL are read by this package from the same tokens; queries and expressions by sqlglot.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import tokens
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.tokenizer_core import TokenType

from millstream.sql.expression_parser import ExpressionParser
from millstream.sql.expression_writer import ExpressionWriter


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
        # Flink has no statement that is handed on as raw text.
        COMMANDS: ClassVar = set()
        KEYWORDS: ClassVar = {
            **{word: token for word, token in tokens.Tokenizer.KEYWORDS.items() if token is not TokenType.COMMAND},
            "BYTES": TokenType.VARBINARY,
            "STRING": TokenType.TEXT,
        }

    Parser = ExpressionParser
    Generator = ExpressionWriter
