"""From sqlglot's tree to a typed one; everything that is wrong with the types is found on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeGuard

from sqlglot import exp

from millstream.aggregates.registry import AGGREGATES
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.casts import fits
from millstream.plan.functions.registry import FUNCTIONS, MISSING, nearest_function
from millstream.plan.functions.results import bare
from millstream.plan.functions.signatures import Mismatch, choose, format_signature, given_of, wrong_clause
from millstream.plan.resolver.literals import HOW_WRITTEN, INTERVAL_PARTS, constant, is_impossible, negate, time_of
from millstream.plan.typed import Call, Constant, Conversion, FieldOf, InputColumn, Typed, UserCall, Word
from millstream.sql.alternatives import ALTERNATIVES
from millstream.sql.casts import can_cast
from millstream.sql.functions import Category, Given, MismatchError, Nulls
from millstream.sql.type_text import type_of_text
from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from millstream.catalog.functions import UserFunction
    from millstream.source import Span
    from millstream.sql.functions import Function

USER_FUNCTION: Final = "user_function"
"""Where a call remembers which function of the user's it calls."""
OVER_WINDOW: Final = "over_window"
"""Where a call remembers that OVER stands behind it."""
TABLE_FUNCTION: Final = "table_function"
"""Where a call remembers that its rows are read after FROM."""
OPERATORS: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">",
    exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.And: "AND", exp.Or: "OR", exp.DPipe: "||",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_IN_WORDS: Final[dict[type[exp.Expr], str]] = {
    exp.Subquery: "a sub-query in an expression",
    exp.In: "IN with a sub-query",
    exp.Exists: "EXISTS",
    exp.Any: "a comparison with ANY",
    exp.All: "a comparison with ALL",
    exp.Window: "OVER in this place",
    exp.Overlaps: "OVERLAPS",
    exp.RegexpLike: "the operator RLIKE or REGEXP",
    exp.Star: "* in this place",
    exp.BitwiseAnd: "operator &",
    exp.BitwiseOr: "operator |",
    exp.BitwiseXor: "operator ^",
    exp.BitwiseNot: "operator ~",
    exp.BitwiseLeftShift: "operator <<",
    exp.BitwiseRightShift: "operator >>",
}


def infer(expression: exp.Expr, column_type: Callable[[str], DataType | None]) -> DataType:
    """The type of an expression that a `Scope` has bound."""
    return resolve(expression, column_type).type


def resolve(expression: exp.Expr, column_type: Callable[[str], DataType | None]) -> Typed:
    """A bound expression with a type on every part of it."""
    resolver = Resolver(column_type, aggregates=True)
    found = resolver.resolve(expression)
    if found is None or resolver.problems:
        raise ScriptError(resolver.problems)
    return found


class Resolver:
    """Gives every part of an expression its type and gathers what is wrong; `None` stands for a part that is."""

    def __init__(
        self,
        column_type: Callable[[str], DataType | None],
        place: Callable[[exp.Expr], Span] | None = None,
        functions: Mapping[str, UserFunction] | None = None,
        *,
        aggregates: bool = False,
    ) -> None:
        self._column_type = column_type
        self._place = place
        self._functions = functions or {}
        self._aggregates = aggregates
        self.problems: list[Diagnostic] = []

    def resolve(self, node: exp.Expr) -> Typed | None:
        if (operator := OPERATORS.get(type(node))) is not None:
            return self._call(operator, [node.this, node.expression], node)
        handler = self._HANDLERS.get(type(node))
        if handler is not None:
            return handler(self, node)
        return self._refuse_kind(node)

    def _column(self, node: exp.Column) -> Typed | None:
        """A name that is no column has been reported when it was bound."""
        type_ = self._column_type(node.name)
        return InputColumn(node.name, type_) if type_ is not None else None

    def _inner(self, node: exp.Expr) -> Typed | None:
        return self.resolve(node.this)

    def _literal(self, node: exp.Expr) -> Typed | None:
        found = constant(node)
        if found is None:
            why = f"literal {node.sql(dialect='flink')} cannot be read"
            detail = INTERVAL_PARTS if isinstance(node, exp.Interval) else None
            return self._refuse(node, why, Code.TYPE_MISMATCH, detail)
        return found

    def _negative(self, node: exp.Neg) -> Typed | None:
        literal = constant(node.this)
        folded = negate(literal) if literal is not None else None
        return folded or self._call("unary -", [node.this], node)

    def _between(self, node: exp.Between) -> Typed | None:
        name = "BETWEEN SYMMETRIC" if node.args.get("symmetric") else "BETWEEN"
        return self._call(name, [node.this, node.args["low"], node.args["high"]], node)

    def _in(self, node: exp.In) -> Typed | None:
        if not node.expressions:
            return self._refuse_kind(node)
        return self._call("IN", [node.this, *node.expressions], node)

    def _case(self, node: exp.Case) -> Typed | None:
        branches = []
        for branch in node.args["ifs"]:
            condition = branch.this
            if node.this is not None:
                condition = exp.EQ(this=node.this.copy(), expression=branch.this.copy())
                condition.parent = node
            branches += [condition, branch.args["true"]]
        default = node.args.get("default")
        return self._call("CASE", [*branches, *([default] if default is not None else [])], node)

    def _is(self, node: exp.Is) -> Typed | None:
        right = node.expression
        if isinstance(right, exp.JSON):
            return self._call("IS JSON", [node.this, exp.Literal.string(right.this or "")], node)
        word = "UNKNOWN" if isinstance(right, exp.Var) else "NULL"
        if isinstance(right, exp.Boolean):
            word = "TRUE" if right.this else "FALSE"
        return self._call(f"IS {word}", [node.this], node)

    def _pattern(self, node: exp.Expr) -> Typed | None:
        escape = [node.expression] if isinstance(node, exp.Escape) else []
        inner = node.this if escape else node
        if not isinstance(inner, exp.Like | exp.SimilarTo):
            return self._refuse(node, "ESCAPE belongs to LIKE and SIMILAR TO", Code.UNSUPPORTED_EXPRESSION)
        name = "LIKE" if isinstance(inner, exp.Like) else "SIMILAR TO"
        found = self._call(name, [inner.this, inner.expression, *escape], node)
        if found is None or not inner.args.get("negate"):
            return found
        return self._make_call(FUNCTIONS["NOT"], [found], [node], node, {})

    def _conversion(self, node: exp.Cast) -> Typed | None:
        wanted = type_of_text(node.to.sql(dialect="flink"))
        value = self.resolve(node.this)
        if value is None:
            return None
        if not can_cast(value.type, wanted):
            return self._refuse(node, f"{bare(value.type)} cannot be cast to {bare(wanted)}", Code.TYPE_MISMATCH)
        if isinstance(value, Constant) and value.value is None:
            return Constant(None, wanted.or_null())
        attempt = isinstance(node, exp.TryCast)
        if not attempt and isinstance(value, Constant) and is_impossible(value.value, wanted.root):
            why, hint = f"'{value.value}' is not a {wanted.root}", f"Write it as in {HOW_WRITTEN[wanted.root]}."
            return self._refuse(node, why, Code.TYPE_MISMATCH, hint=hint)
        if wanted.root is TypeRoot.TIME and (time := time_of(value, wanted)) is not None:
            return time
        return Conversion(value, replace(wanted, nullable=attempt or value.type.nullable), attempt)

    def _field(self, node: exp.Dot) -> Typed | None:
        row = self.resolve(node.this)
        name = node.expression.name
        if row is None:
            return None
        if row.type.root is not TypeRoot.ROW:
            return self._refuse(
                node, f'"{name}" is not a field: the value is of type {bare(row.type)}', Code.TYPE_MISMATCH
            )
        return self._find_field(row, name, node)

    def _item(self, node: exp.Bracket) -> Typed | None:
        collection, [key] = self.resolve(node.this), node.expressions
        index = self.resolve(key)
        if collection is None or index is None:
            return None
        if collection.type.root is not TypeRoot.ROW:
            return self._make_call(FUNCTIONS["[]"], [collection, index], [node.this, key], node, {})
        fields = collection.type.fields
        match index:
            case Constant(value=str(name)):
                return self._find_field(collection, name, node)
            case Constant(value=int(number), type=DataType(root=TypeRoot.INT)) if 1 <= number <= len(fields):
                return self._find_field(collection, fields[number - 1].name, node)
            case Constant(value=int(number), type=DataType(root=TypeRoot.INT | TypeRoot.BIGINT)):
                detail = f"It has {len(fields)} field{'' if len(fields) == 1 else 's'}, counted from 1."
                return self._refuse(key, f"row has no field {number}", Code.UNDEFINED_COLUMN, detail)
            case _:
                why, hint = "a field of a ROW is named by a literal", "Write its name in quotes, or its number."
                return self._refuse(key, why, Code.TYPE_MISMATCH, hint=hint)

    def _find_field(self, row: Typed, name: str, node: exp.Expr) -> Typed | None:
        found = next((field for field in row.type.fields if field.name == name), None)
        if found is None:
            names = ", ".join(field.name for field in row.type.fields)
            return self._refuse(node, f'row has no field "{name}"', Code.UNDEFINED_COLUMN, f"It has: {names}.")
        return FieldOf(row, name, found.type.or_null() if row.type.nullable else found.type)

    def _resolve_filter(self, node: exp.Filter) -> Typed | None:
        written = node.expression.this
        condition = self.resolve(written)
        if condition is not None and condition.type.root not in (TypeRoot.BOOLEAN, TypeRoot.NULL):
            self._refuse(written, f"FILTER needs a BOOLEAN condition, not {bare(condition.type)}", Code.TYPE_MISMATCH)
        return self.resolve(node.this)

    def _resolve_named_call(self, node: exp.Anonymous) -> Typed | None:
        name = node.name.upper()
        if (function := FUNCTIONS.get(name)) is not None:
            if function.category is Category.WINDOW and not node.meta.get(OVER_WINDOW):
                return self._refuse(node, f"{name} needs OVER (…) behind it", Code.UNSUPPORTED_EXPRESSION)
            return (
                self._aggregate(function, node) if function.is_aggregate else self._call(name, node.expressions, node)
            )
        user = node.meta.get(USER_FUNCTION) or self._functions.get(name)
        if user is not None:
            return self._user_call(user, node)
        if (missing := MISSING.get(name)) is not None:
            why = f"{name} is not supported"
            return self._refuse(node, why, Code.UNSUPPORTED_EXPRESSION, missing.reason, missing.instead)
        near = nearest_function(name, tuple(self._functions))
        hint = f"Did you mean {near}?" if near else None
        return self._refuse(node, f'function "{node.name}" does not exist', Code.UNDEFINED_FUNCTION, hint=hint)

    def _aggregate(self, function: Function, node: exp.Anonymous) -> Typed | None:
        if not self._aggregates:
            why = f"{function.name} is an aggregate function and cannot be used here"
            return self._refuse(node, why, Code.UNSUPPORTED_EXPRESSION)
        if _has_star_form(function) and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Star):
            return Call(function, function.signatures[0], (), function.signatures[0].result(Given((), ())).not_null())
        first = node.expressions[0] if node.expressions else None
        arguments = [*first.expressions, *node.expressions[1:]] if isinstance(first, exp.Distinct) else node.expressions
        self._aggregates = False
        try:
            return self._call(function.name, arguments, node)
        finally:
            self._aggregates = True

    def _user_call(self, user: UserFunction, node: exp.Anonymous) -> Typed | None:
        if user.gives_rows and not node.meta.get(TABLE_FUNCTION):
            why, hint = f'function "{user.name}" gives rows', f"Write FROM t, LATERAL TABLE({user.name}(…)) AS u (a)."
            return self._refuse(node, why, Code.TYPE_MISMATCH, hint=hint)
        arguments = [self.resolve(argument) for argument in node.expressions]
        if not _complete(arguments):
            return None
        types = [argument.type for argument in arguments]
        if len(types) != len(user.arguments):
            why = f'function "{user.name}" does not take {len(types)} argument{"" if len(types) == 1 else "s"}'
            return self._refuse(node, why, Code.TYPE_MISMATCH, _takes(user))
        wrong = [at for at, pair in enumerate(zip(types, user.arguments, strict=True)) if not fits(*pair)]
        for at in wrong:
            why = f'function "{user.name}" takes {bare(user.arguments[at])} here, not {bare(types[at])}'
            self._refuse(node.expressions[at], why, Code.TYPE_MISMATCH, _takes(user), "Use CAST.")
        if wrong:
            return None
        return UserCall(user, tuple(arguments), user.result)

    def _call(self, name: str, nodes: Sequence[exp.Expr], node: exp.Expr) -> Typed | None:
        values = [_without_nulls_words(item) for item in nodes if not isinstance(item, exp.Kwarg)]
        arguments = [Word(item.name) if isinstance(item, exp.Var) else self.resolve(item) for item in values]
        clauses = {item.name: self._clause(item) for item in nodes if isinstance(item, exp.Kwarg)}
        if not _complete(arguments) or None in clauses.values():
            return None
        return self._make_call(FUNCTIONS[name], arguments, values, node, clauses)

    def _clause(self, clause: exp.Kwarg) -> Typed | Word | DataType | None:
        value = clause.expression
        if isinstance(value, exp.Var):
            return Word(value.name)
        return type_of_text(value.sql(dialect="flink")) if isinstance(value, exp.DataType) else self.resolve(value)

    def _make_call(
        self,
        function: Function,
        arguments: Sequence[Typed | Word],
        nodes: Sequence[exp.Expr],
        node: exp.Expr,
        clauses: Mapping[str, Typed | Word | DataType | None],
    ) -> Typed | None:
        sign = choose(function, arguments)
        if isinstance(sign, Mismatch):
            place = node if sign.argument is None else nodes[sign.argument]
            return self._refuse(place, sign.why, Code.TYPE_MISMATCH, format_signature(function))
        known = {name: value for name, value in clauses.items() if value is not None}
        if (wrong := wrong_clause(function, known)) is not None:
            return self._refuse(node, wrong, Code.TYPE_MISMATCH, format_signature(function))
        given = given_of(arguments, known)
        try:
            type_ = sign.result(given)
        except MismatchError as error:
            place = node if error.argument is None else nodes[error.argument]
            return self._refuse(place, str(error), Code.TYPE_MISMATCH, hint=error.hint)
        can_be_null = sign.nulls is Nulls.ALWAYS or (
            sign.nulls is Nulls.FROM_ARGUMENTS and any(type_.nullable for type_ in given.types)
        )
        return Call(function, sign, tuple(arguments), replace(type_, nullable=can_be_null), tuple(known.items()))

    def _refuse_kind(self, node: exp.Expr) -> Typed | None:
        what = _in_words(node)
        why, hint = f"{what} is not supported yet", ALTERNATIVES.get(what)
        return self._refuse(node, why, Code.UNSUPPORTED_EXPRESSION, hint=hint)

    def _refuse(
        self, node: exp.Expr, why: str, code: Code, detail: str | None = None, hint: str | None = None
    ) -> Typed | None:
        span = self._place(node) if self._place is not None else None
        self.problems.append(Diagnostic(code, why, span, detail=detail, hint=hint))
        return None

    _HANDLERS: ClassVar[dict[type[exp.Expr], Callable[[Resolver, Any], Typed | None]]] = {
        exp.Column: _column,
        exp.Paren: _inner,
        **dict.fromkeys((exp.Literal, exp.Boolean, exp.Null, exp.HexString, exp.Interval), _literal),
        **dict.fromkeys((exp.Cast, exp.TryCast), _conversion),
        **dict.fromkeys((exp.Like, exp.SimilarTo, exp.Escape), _pattern),
        **dict.fromkeys((exp.IgnoreNulls, exp.RespectNulls), _inner),
        exp.Dot: _field,
        exp.Anonymous: _resolve_named_call,
        exp.Filter: _resolve_filter,
        exp.Neg: _negative,
        exp.Case: _case,
        exp.Between: _between,
        exp.In: _in,
        exp.Is: _is,
        exp.Not: lambda self, node: self._call("NOT", [node.this], node),
        exp.Bracket: _item,
        exp.Tuple: lambda self, node: self._call("ROW", node.expressions, node),
    }


def _has_star_form(function: Function) -> bool:
    """GROUPING and the like are declared as aggregates, and are constants."""
    record = AGGREGATES.get(function.name)
    return record is not None and record.star is not None


def _complete(items: Sequence[Typed | Word | None]) -> TypeGuard[Sequence[Typed]]:
    return all(item is not None for item in items)


def _takes(user: UserFunction) -> str:
    return f"It takes ({', '.join(map(bare, user.arguments))})."


def _without_nulls_words(node: exp.Expr) -> exp.Expr:
    """`x IGNORE NULLS` is an argument of ARRAY_AGG, and x of the same type."""
    return node.this if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) else node


def _in_words(node: exp.Expr) -> str:
    named = next((words for kind, words in _IN_WORDS.items() if isinstance(node, kind)), None)
    if named is not None:
        return named
    return node.sql(dialect="flink") if isinstance(node, exp.Func) else f"{node.key.upper()} expression"
