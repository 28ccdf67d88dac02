"""Parses Flink's expressions, where they differ from what sqlglot accepts.

Every function call becomes `exp.Anonymous`: its name, its arguments, bare words (`DAY`, `BOTH`) as `exp.Var` and
clauses (`… ON ERROR`) as `exp.Kwarg`. So one table of functions can check them all.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.source import SourceText
from millstream.sql.cursor import TokenCursor
from millstream.sql.script import Script
from millstream.sql.type_parser import parse_type
from millstream.sql.window_parser import WindowParser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


T = TypeVar("T")

WITHOUT_PARENTHESES: Final = {
    TokenType.CURRENT_DATE: "CURRENT_DATE",
    TokenType.CURRENT_TIME: "CURRENT_TIME",
    TokenType.CURRENT_TIMESTAMP: "CURRENT_TIMESTAMP",
    TokenType.LOCALTIME: "LOCALTIME",
    TokenType.LOCALTIMESTAMP: "LOCALTIMESTAMP",
}
_UNITS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_ODBC_UNITS: Final = {
    **{f"SQL_TSI_{unit}": unit for unit in (*_UNITS, "MICROSECOND")},
    **dict.fromkeys(("FRAC_SECOND", "SQL_TSI_FRAC_SECOND"), "NANOSECOND"),
}
"""Other names for units, only in TIMESTAMPADD and TIMESTAMPDIFF."""
_LITERALS: Final = frozenset({"DATE", "TIME", "TIMESTAMP"})
_FRACTION: Final = re.compile(r"\.(\d+)\s*$")
_WORDS_BETWEEN: Final = {"OVERLAY": ("PLACING", "FROM", "FOR"), "POSITION": ("IN",), "SUBSTRING": ("FROM", "FOR")}
_BEHAVIOURS: Final = (
    ("EMPTY", "ARRAY"), ("EMPTY", "OBJECT"), ("NULL",), ("ERROR",), ("TRUE",), ("FALSE",), ("UNKNOWN",), ("ABSENT",),
)  # fmt: skip
_WRAPPERS: Final = {
    ("WITHOUT", "ARRAY", "WRAPPER"): "WITHOUT",
    ("WITHOUT", "WRAPPER"): "WITHOUT",
    ("WITH", "CONDITIONAL", "ARRAY", "WRAPPER"): "CONDITIONAL",
    ("WITH", "CONDITIONAL", "WRAPPER"): "CONDITIONAL",
    ("WITH", "UNCONDITIONAL", "ARRAY", "WRAPPER"): "UNCONDITIONAL",
    ("WITH", "UNCONDITIONAL", "WRAPPER"): "UNCONDITIONAL",
    ("WITH", "ARRAY", "WRAPPER"): "UNCONDITIONAL",
    ("WITH", "WRAPPER"): "UNCONDITIONAL",
}


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def make_type(text: str) -> exp.DataType:
    """A type inside an expression, kept as text because sqlglot knows fewer types than Flink."""
    return exp.DataType(this=exp.DType.USERDEFINED, kind=text)


def _one_of(value: exp.Expr, values: Sequence[exp.Expr]) -> exp.Expr:
    if len(values) > 1:
        return exp.In(this=value.copy(), expressions=list(values))
    return exp.EQ(this=value.copy(), expression=values[0])


def _read_special(name: str, parser: ExpressionParser) -> exp.Expr:
    return parser.read_special(name)


class ExpressionParser(WindowParser):
    FUNCTIONS: ClassVar = {}
    LAMBDAS: ClassVar = {}
    COLUMN_OPERATORS: ClassVar = {TokenType.DOT: None}
    NO_PAREN_FUNCTIONS: ClassVar = {token: partial(call, name) for token, name in WITHOUT_PARENTHESES.items()}
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": lambda self: self._parse_case()}
    FUNCTION_PARSERS: ClassVar = {
        name: partial(_read_special, name)
        for name in (
            "CAST", "TRY_CAST", "CEIL", "CEILING", "EXTRACT", "FLOOR", "JSON_ARRAY", "JSON_ARRAYAGG", "JSON_EXISTS",
            "JSON_OBJECT", "JSON_OBJECTAGG", "JSON_QUERY", "JSON_VALUE", "OVERLAY", "POSITION", "SUBSTRING",
            "TIMESTAMPADD", "TIMESTAMPDIFF", "TRIM",
        )
    }  # fmt: skip

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        """Like sqlglot's, but requires an item on both sides of a comma."""
        items: list[T] = []
        while True:
            item = parse_method()
            if item is not None:
                items.append(item)
            elif items or self._match(sep, advance=False):
                self.raise_error("Expecting an expression")
            if not self._match(sep):
                return items

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:  # noqa: ARG002, FBT001, FBT002
        """An argument of a function: Flink has no lambdas, and an argument has no alias."""
        if self._match(TokenType.DISTINCT):
            return self.expression(exp.Distinct(expressions=self._parse_csv(self._parse_disjunction)))
        self._match(TokenType.ALL)
        return self._parse_respect_or_ignore_nulls(self._parse_select_or_expression())

    def _parse_types(
        self,
        check_func: bool = False,  # noqa: FBT001, FBT002
        schema: bool = False,  # noqa: FBT001, FBT002
        allow_identifiers: bool = True,  # noqa: FBT001, FBT002
        with_collation: bool = False,  # noqa: FBT001, FBT002
    ) -> exp.Expr | None:
        """Inside an expression, a type precedes a literal: `DATE '2020-01-01'`."""
        if not check_func:
            return super()._parse_types(check_func, schema, allow_identifiers, with_collation)
        word = self._curr.text.upper()
        if word not in _LITERALS or self._next.token_type is not TokenType.STRING:
            return None
        self._advance()
        fraction = _FRACTION.search(self._curr.text)
        precision = f"({len(fraction.group(1)) if fraction else 0})"
        return make_type(word if word == "DATE" else word + precision)

    def _parse_interval(
        self,
        require_interval: bool = True,  # noqa: FBT001, FBT002, ARG002
        parse_function_unit: bool = True,  # noqa: FBT001, FBT002, ARG002
    ) -> exp.Interval | None:
        if self._curr.token_type is not TokenType.INTERVAL:
            return None
        start = self._curr
        self._advance()
        sign = "-" if self._match(TokenType.DASH) else ""
        if not self._match(TokenType.STRING):
            self.raise_error("Expecting the interval's value in single quotes")
        value = exp.Literal.string(sign + self._prev.text).update_positions(self._prev)
        unit: exp.Expr = self._read_unit()
        if self._match_text_seq("TO"):
            unit = exp.IntervalSpan(this=unit, expression=self._read_unit())
        interval = self.expression(exp.Interval(this=value, unit=unit))
        interval.update_positions(start)
        return interval

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
        index = self._index
        negated = self._match(TokenType.NOT)
        if self._match_text_seq("DISTINCT", "FROM") or self._curr.token_type is TokenType.JSON:
            self._retreat(index)
            return super()._parse_is(this)
        word = self._curr.text.upper()
        if word not in ("NULL", "TRUE", "FALSE", "UNKNOWN"):
            self.raise_error("Expecting NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT FROM")
        self._advance()
        right = {"NULL": exp.Null(), "UNKNOWN": exp.Var(this="UNKNOWN")}.get(word) or exp.Boolean(this=word == "TRUE")
        found = self.expression(exp.Is(this=this, expression=right))
        return self.expression(exp.Not(this=found)) if negated else found

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """`ARRAY[…]` and `MAP[…]` construct a value; after anything else, `[…]` is a subscript."""
        if not self._match(TokenType.L_BRACKET):
            return this
        items = self._parse_csv(self._parse_disjunction)
        if not self._match(TokenType.R_BRACKET):
            self.raise_error("Expecting ]")
        maker = this.name.upper() if isinstance(this, exp.Column) and not this.table and not this.this.quoted else ""
        found: exp.Expr
        if maker in ("ARRAY", "MAP"):
            assert this is not None
            found = call(maker, *items)
            found.meta.update(this.this.meta, end=self._prev.end)
        else:
            if this is None or len(items) != 1:
                self.raise_error("Expecting one index in brackets")
            found = self.expression(exp.Bracket(this=this, expressions=items))
        return self._parse_bracket(found)

    def _parse_case(self) -> exp.Expr:
        """`CASE x WHEN a, b THEN …` is `CASE WHEN x IN (a, b) THEN …`."""
        value = self._parse_disjunction()
        branches: list[tuple[list[exp.Expr], exp.Expr | None]] = []
        while self._match(TokenType.WHEN):
            values = self._parse_csv(self._parse_disjunction) if value is not None else [self._parse_disjunction()]
            if not self._match(TokenType.THEN):
                self.raise_error("Expecting THEN")
            branches.append(([item for item in values if item is not None], self._parse_disjunction()))
        if not branches:
            self.raise_error("Expecting WHEN")
        default = self._parse_disjunction() if self._match(TokenType.ELSE) else None
        if not self._match(TokenType.END):
            self.raise_error("Expecting END")
        if value is not None and any(len(values) > 1 for values, _ in branches):
            branches = [([_one_of(value, values)], result) for values, result in branches]
            value = None
        ifs = [self.expression(exp.If(this=first, true=result)) for (first, *_), result in branches]
        return self.expression(exp.Case(this=value, ifs=ifs, default=default))

    def read_special(self, name: str) -> exp.Expr:
        """Parses a function with words among its arguments, without its opening and closing parentheses."""
        start = self._tokens[self._index - 2]
        match name:
            case "CAST" | "TRY_CAST":
                made = self._read_cast(exp.Cast if name == "CAST" else exp.TryCast)
            case "CEIL" | "CEILING" | "FLOOR":
                made = self._read_rounding(name.removesuffix("ING"))
            case "EXTRACT":
                made = self._read_extract()
            case "TIMESTAMPADD" | "TIMESTAMPDIFF":
                made = self._read_unit_first(name)
            case "TRIM":
                made = self._read_trim()
            case "JSON_EXISTS" | "JSON_QUERY" | "JSON_VALUE":
                made = self._read_json_path(name)
            case _:
                words = _WORDS_BETWEEN.get(name)
                made = (
                    self._read_json_constructor(name) if words is None else self._read_keyword_arguments(name, *words)
                )
        if not self._match(TokenType.R_PAREN, advance=False):
            self.raise_error("Expecting )")
        made.update_positions(start)
        made.meta["end"] = self._curr.end
        return made

    def _parse_function_args(self, alias: bool = False) -> list[exp.Expr]:  # noqa: FBT001, FBT002
        name = self._tokens[self._index - 2].text.upper()
        arguments = super()._parse_function_args(alias)
        if self._match(TokenType.ORDER_BY, advance=False):
            place = SourceText("", self.sql).span(self._curr.start, self._curr.end + 1)
            primary = f"{name}(… ORDER BY …) is not supported yet"
            raise ScriptError(Diagnostic(Code.UNSUPPORTED_EXPRESSION, primary, place))
        return arguments

    def _read_type(self) -> exp.DataType:
        """Reports problems of a type with their position in the text that sqlglot parses."""
        ahead = self._tokens[self._index : self._type_end()]
        cursor = TokenCursor(Script(SourceText("", self.sql), self.sql), ahead)
        type_ = parse_type(cursor)
        first = self._curr
        self._advance(len(ahead) - len(cursor.rest()))
        found = make_type(str(type_))
        found.meta.update(start=first.start, end=self._prev.end)
        return found

    def _type_end(self) -> int:
        """A type may end in NULL, but not in that of `NULL ON EMPTY`."""
        texts = [token.text.upper() for token in self._tokens]
        ends = (i for i in range(self._index, len(texts) - 1) if texts[i] == "NULL" and texts[i + 1] == "ON")
        return next(ends, len(texts))

    def _read_unit(self) -> exp.Var:
        word = self._curr.text.upper()
        if word.removesuffix("S") not in _UNITS:
            self.raise_error(f"Expecting one of {', '.join(_UNITS)}")
        self._advance()
        if self._match(TokenType.L_PAREN):  # the number of digits is not limited here
            self._match(TokenType.NUMBER)
            self._match_r_paren()
        return exp.Var(this=word.removesuffix("S"))

    def _read_cast(self, kind: type[exp.Cast]) -> exp.Expr:
        value = self._parse_disjunction()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expecting AS")
        return self.expression(kind(this=value, to=self._read_type()))

    def _read_rounding(self, name: str) -> exp.Expr:
        made = self._make_call(name, self._parse_csv(self._parse_lambda))
        if self._match_text_seq("TO"):
            made.append("expressions", self._read_word())
        return made

    def _read_extract(self) -> exp.Expr:
        made = self._make_call("EXTRACT", [self._read_word()])
        if not self._match(TokenType.FROM):
            self.raise_error("Expecting FROM")
        made.append("expressions", self._parse_disjunction())
        return made

    def _read_unit_first(self, name: str) -> exp.Expr:
        unit = self._read_word()
        unit.set("this", _ODBC_UNITS.get(unit.name, unit.name))
        made = self._make_call(name, [unit])
        if not self._match(TokenType.COMMA):
            self.raise_error("Expecting ,")
        made.set("expressions", [*made.expressions, *self._parse_csv(self._parse_lambda)])
        return made

    def _read_keyword_arguments(self, name: str, *words: str) -> exp.Expr:
        """`name(a WORD b …)`, which is the same as `name(a, b, …)`."""
        made = self._make_call(name, [self._parse_bitwise()])
        if self._match(TokenType.COMMA):
            made.set("expressions", [*made.expressions, *self._parse_csv(self._parse_lambda)])
            return made
        for word in words:
            if self._match_text_seq(word):
                made.append("expressions", self._parse_bitwise())
        return made

    def _read_trim(self) -> exp.Expr:
        """`TRIM([BOTH | LEADING | TRAILING] [characters] FROM text)`, `TRIM(BOTH text)`, `TRIM(text)`.

        Only the last has no words in the tree.
        """
        side = self._read_word() if self._curr.text.upper() in ("BOTH", "LEADING", "TRAILING") else None
        first = None if self._match(TokenType.FROM, advance=False) else self._parse_bitwise()
        if not self._match(TokenType.FROM):
            return self._make_call("TRIM", [first] if side is None else [side, exp.Literal.string(" "), first])
        parts = [side or exp.Var(this="BOTH"), first or exp.Literal.string(" "), self._parse_bitwise()]
        return self._make_call("TRIM", parts)

    def _read_json_path(self, name: str) -> exp.Expr:
        made = self._make_call(name, self._parse_csv(self._parse_lambda))
        if self._match_text_seq("RETURNING"):
            self._add_clause(made, "RETURNING", self._read_type())
        for words, wrapper in _WRAPPERS.items():
            if self._match_text_seq(*words):
                self._add_clause(made, "WRAPPER", exp.Var(this=wrapper))
                break
        while (behaviour := self._read_behaviour()) is not None:
            self._read_on(made, behaviour, "EMPTY", "ERROR")
        return made

    def _read_json_constructor(self, name: str) -> exp.Expr:
        pairs = name.startswith("JSON_OBJECT")
        made = self._make_call(name, [])
        while not self._match(TokenType.R_PAREN, advance=False):
            behaviour = self._read_behaviour() if self._is_on_null_ahead() else None
            if behaviour is not None:
                self._read_on(made, behaviour, "NULL")
                break
            if pairs:
                self._match_text_seq("KEY")
                made.append("expressions", self._parse_bitwise())
                if not self._match_text_seq("VALUE"):
                    self.raise_error("Expecting VALUE")
            made.append("expressions", self._parse_bitwise())
            if not self._match(TokenType.COMMA) and not self._is_on_null_ahead():
                break
        return made

    def _is_on_null_ahead(self) -> bool:
        ahead = [token.text.upper() for token in self._tokens[self._index : self._index + 3]]
        return ahead[1:] == ["ON", "NULL"] and ahead[0] in ("NULL", "ABSENT")

    def _read_behaviour(self) -> exp.Expr | None:
        """What precedes ON ERROR: words, or an expression after DEFAULT."""
        if self._match_text_seq("DEFAULT"):
            return self._parse_bitwise()
        for words in _BEHAVIOURS:
            if self._match_text_seq(*words):
                return exp.Var(this=" ".join(words))
        return None

    def _read_on(self, made: exp.Anonymous, behaviour: exp.Expr, *events: str) -> None:
        for event in events:
            if self._match_text_seq("ON", event):
                self._add_clause(made, f"ON {event}", behaviour)
                return
        self.raise_error(f"Expecting ON {' or ON '.join(events)}")

    def _add_clause(self, made: exp.Anonymous, name: str, value: exp.Expr) -> None:
        made.append("expressions", exp.Kwarg(this=exp.Var(this=name), expression=value))

    def _read_word(self) -> exp.Var:
        if not re.fullmatch(r"[^\W\d]\w*", self._curr.text):
            self.raise_error("Expecting a word")
        word = exp.Var(this=self._curr.text.upper()).update_positions(self._curr)
        self._advance()
        return word

    def _make_call(self, name: str, arguments: Sequence[exp.Expr | None]) -> exp.Anonymous:
        if any(argument is None for argument in arguments):
            self.raise_error("Expecting an expression")
        return call(name, *(argument for argument in arguments if argument is not None))
