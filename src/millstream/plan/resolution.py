"""From sqlglot's tree to a typed one; everything that is wrong with the types is found on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeGuard

from sqlglot import exp

from millstream.errors import Code, Diagnostic
from millstream.plan.casts import can_cast
from millstream.plan.functions.declaration import WORD, Function, Given, MismatchError, Nulls, Parameter, Signature
from millstream.plan.functions.registry import FUNCTIONS, MISSING, nearest
from millstream.plan.functions.results import bare, nullable
from millstream.plan.literals import constant, negated
from millstream.plan.typed import Call, Constant, Conversion, FieldOf, InputColumn, Typed, UserCall, Word
from millstream.sql.type_text import type_of_text
from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from millstream.catalog.functions import UserFunction
    from millstream.source import Span

USER_FUNCTION: Final = "user_function"
"""Where a call remembers which function of the user's it calls."""
_OPERATORS: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">",
    exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.And: "AND", exp.Or: "OR", exp.DPipe: "||",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_IN_WORDS: Final = {
    exp.Subquery: "a sub-query in an expression",
    exp.Exists: "EXISTS",
    exp.Window: "OVER",
    exp.Overlaps: "OVERLAPS",
    exp.Star: "* in this place",
}
_UNKNOWN_PLACE: Final = None


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
        if (operator := _OPERATORS.get(type(node))) is not None:
            return self._call(operator, [node.this, node.expression], node)
        match node:
            case exp.Column():
                type_ = self._column_type(node.name)
                return InputColumn(node.name, type_) if type_ is not None else None
            case exp.Paren():
                return self.resolve(node.this)
            case exp.Literal() | exp.Boolean() | exp.Null() | exp.HexString() | exp.Interval():
                return self._literal(node)
            case exp.Cast():
                return self._conversion(node)
            case exp.Dot():
                return self._field(node)
            case exp.Anonymous():
                return self._named(node)
            case exp.Filter():
                return self._filtered(node)
            case _:
                return self._syntax(node)

    def _syntax(self, node: exp.Expr) -> Typed | None:
        """What has words of its own and becomes a call of a declared function."""
        found: Typed | None
        match node:
            case exp.Not():
                found = self._call("NOT", [node.this], node)
            case exp.Neg():
                literal = constant(node.this)
                found = (literal and negated(literal)) or self._call("unary -", [node.this], node)
            case exp.Case():
                found = self._case(node)
            case exp.Between():
                name = "BETWEEN SYMMETRIC" if node.args.get("symmetric") else "BETWEEN"
                found = self._call(name, [node.this, node.args["low"], node.args["high"]], node)
            case exp.In() if not node.args.get("query") and node.expressions:
                found = self._call("IN", [node.this, *node.expressions], node)
            case exp.Is():
                found = self._is(node)
            case exp.Like() | exp.SimilarTo() | exp.Escape():
                found = self._pattern(node)
            case exp.Bracket():
                found = self._call("[]", [node.this, *node.expressions], node)
            case exp.Tuple():
                found = self._call("ROW", node.expressions, node)
            case exp.IgnoreNulls() | exp.RespectNulls() | exp.Distinct() if self._aggregates:
                found = self.resolve(node.this or node.expressions[0])
            case _:
                found = self._refuse(node, f"{_in_words(node)} is not supported yet", Code.UNSUPPORTED_EXPRESSION)
        return found

    def _literal(self, node: exp.Expr) -> Constant | None:
        found = constant(node)
        if found is None:
            self._refuse(node, f"literal {node.sql(dialect='flink')} cannot be read", Code.TYPE_MISMATCH)
        return found

    def _case(self, node: exp.Case) -> Typed | None:
        branches = []
        for branch in node.args["ifs"]:
            condition = (
                branch.this if node.this is None else exp.EQ(this=node.this.copy(), expression=branch.this.copy())
            )
            branches += [condition, branch.args["true"]]
        default = node.args.get("default")
        return self._call("CASE", [*branches, *([default] if default is not None else [])], node)

    def _is(self, node: exp.Is) -> Typed | None:
        right = node.expression
        if isinstance(right, exp.JSON):
            return self._call("IS JSON", [node.this, exp.Literal.string(right.this or "")], node)
        word = "NULL" if isinstance(right, exp.Null) else right.name.upper() or str(bool(right.this)).upper()
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
        return self._made(FUNCTIONS["NOT"], [found], [node], node)

    def _conversion(self, node: exp.Cast) -> Typed | None:
        wanted = type_of_text(node.to.sql(dialect="flink"))
        if wanted.root is TypeRoot.TIME:
            return self._refuse(node, "values of type TIME are not supported yet", Code.UNSUPPORTED_TYPE)
        value = self.resolve(node.this)
        if value is None:
            return None
        if not can_cast(value.type, wanted):
            return self._refuse(node, f"{bare(value.type)} cannot be cast to {bare(wanted)}", Code.TYPE_MISMATCH)
        attempt = isinstance(node, exp.TryCast)
        type_ = replace(wanted, nullable=attempt or value.type.nullable)
        return Conversion(value, type_, attempt)

    def _field(self, node: exp.Dot) -> Typed | None:
        row = self.resolve(node.this)
        name = node.expression.name
        if row is None:
            return None
        if row.type.root is not TypeRoot.ROW:
            return self._refuse(node, f'"{name}" is no field of this: it is {bare(row.type)}', Code.TYPE_MISMATCH)
        found = next((field for field in row.type.fields if field.name == name), None)
        if found is None:
            names = ", ".join(field.name for field in row.type.fields)
            return self._refuse(node, f'row has no field "{name}"', Code.UNDEFINED_COLUMN, detail=f"It has: {names}.")
        return FieldOf(row, name, nullable(found.type) if row.type.nullable else found.type)

    def _filtered(self, node: exp.Filter) -> Typed | None:
        condition = self.resolve(node.expression.this)
        if condition is not None and condition.type.root not in (TypeRoot.BOOLEAN, TypeRoot.NULL):
            self._refuse(
                node.expression.this,
                f"FILTER takes a condition, and this is {bare(condition.type)}",
                Code.TYPE_MISMATCH,
            )
        return self.resolve(node.this)

    def _named(self, node: exp.Anonymous) -> Typed | None:
        name = node.name.upper()
        if (function := FUNCTIONS.get(name)) is not None:
            if function.is_aggregate:
                return self._aggregate(function, node)
            return self._call(name, node.expressions, node)
        if (missing := MISSING.get(name)) is not None:
            return self._refuse(
                node, f"{name} is not supported", Code.UNSUPPORTED_EXPRESSION, missing.reason, missing.instead
            )
        user = node.meta.get(USER_FUNCTION) or self._functions.get(name)
        if user is not None:
            return self._user_call(user, node)
        near = nearest(name, tuple(self._functions))
        return self._refuse(
            node, f'function "{node.name}" does not exist', Code.UNDEFINED_FUNCTION,
            hint=f"Did you mean {near}?" if near else None,
        )  # fmt: skip

    def _aggregate(self, function: Function, node: exp.Anonymous) -> Typed | None:
        if not self._aggregates:
            return self._refuse(
                node, f"{function.name} is an aggregate, and cannot stand here", Code.UNSUPPORTED_EXPRESSION
            )
        if function.name == "COUNT" and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Star):
            return Call(function, function.signatures[0], (), function.signatures[0].result(Given((), ())).not_null())
        first = node.expressions[0] if node.expressions else None
        arguments = [*first.expressions, *node.expressions[1:]] if isinstance(first, exp.Distinct) else node.expressions
        self._aggregates = False
        try:
            return self._call(function.name, arguments, node)
        finally:
            self._aggregates = True

    def _user_call(self, user: UserFunction, node: exp.Anonymous) -> Typed | None:
        arguments = [self.resolve(argument) for argument in node.expressions]
        if not _complete(arguments):
            return None
        types = [argument.type for argument in arguments]
        fits = len(types) == len(user.arguments) and all(
            can_cast(found, wanted) for found, wanted in zip(types, user.arguments, strict=True)
        )
        if not fits:
            return self._refuse(
                node, f'function "{user.name}" does not take ({", ".join(map(bare, types))})', Code.TYPE_MISMATCH,
                detail=f"It takes ({', '.join(map(bare, user.arguments))}).",
            )  # fmt: skip
        return UserCall(user, tuple(arguments), user.result)

    def _call(self, name: str, nodes: Sequence[exp.Expr], node: exp.Expr) -> Typed | None:
        values = [item for item in nodes if not isinstance(item, exp.Kwarg)]
        arguments = [Word(item.name) if isinstance(item, exp.Var) else self.resolve(item) for item in values]
        clauses = {item.name: self._clause(item) for item in nodes if isinstance(item, exp.Kwarg)}
        if not _complete(arguments) or None in clauses.values():
            return None
        return self._made(FUNCTIONS[name], arguments, values, node, clauses)

    def _clause(self, clause: exp.Kwarg) -> Typed | Word | DataType | None:
        value = clause.expression
        if isinstance(value, exp.Var):
            return Word(value.name)
        return type_of_text(value.sql(dialect="flink")) if isinstance(value, exp.DataType) else self.resolve(value)

    def _made(
        self,
        function: Function,
        arguments: Sequence[Typed | Word],
        nodes: Sequence[exp.Expr],
        node: exp.Expr,
        clauses: Mapping[str, Typed | Word | DataType | None] | None = None,
    ) -> Typed | None:
        sign = self._signature(function, arguments, nodes, node)
        if sign is None:
            return None
        known = {name: value for name, value in (clauses or {}).items() if value is not None}
        given = given_of(arguments, known)
        try:
            type_ = sign.result(given)
        except MismatchError as error:
            return self._refuse(node, str(error), Code.TYPE_MISMATCH, detail=_how(function))
        can_be_null = sign.nulls is Nulls.ALWAYS or (
            sign.nulls is Nulls.FROM_ARGUMENTS and any(type_.nullable for type_ in given.types)
        )
        return Call(function, sign, tuple(arguments), replace(type_, nullable=can_be_null), tuple(known.items()))

    def _signature(
        self, function: Function, arguments: Sequence[Typed | Word], nodes: Sequence[exp.Expr], node: exp.Expr
    ) -> Signature | None:
        counted = [sign for sign in function.signatures if sign.takes(len(arguments))]
        if not counted:
            many = f"{len(arguments)} argument{'' if len(arguments) == 1 else 's'}"
            self._refuse(node, f"{function.name} does not take {many}", Code.TYPE_MISMATCH, detail=_how(function))
            return None
        wrong = [_first_wrong(sign, arguments) for sign in counted]
        if None in wrong:
            return counted[wrong.index(None)]
        if len(counted) == 1 and (index := wrong[0]) is not None:
            self._refuse_argument(function, counted[0].parameter(index), arguments[index], nodes[index])
            return None
        types = ", ".join(item.text if isinstance(item, Word) else bare(item.type) for item in arguments)
        self._refuse(node, f"{function.name} does not take ({types})", Code.TYPE_MISMATCH, detail=_how(function))
        return None

    def _refuse_argument(self, function: Function, parameter: Parameter, given: Typed | Word, node: exp.Expr) -> None:
        found = given.text if isinstance(given, Word) else bare(given.type)
        if parameter.family is WORD:
            why = f"{function.name} takes {', '.join(sorted(parameter.words))} here, and this is {found}"
        elif not isinstance(given, Word) and given.type.root in parameter.family.roots:
            why = f"{function.name} takes a literal here"
        else:
            why = f"{function.name} takes {parameter.family.name} here, and this is {found}"
        self._refuse(node, why, Code.TYPE_MISMATCH, detail=_how(function))

    def _refuse(self, node: exp.Expr, why: str, code: Code, detail: str | None = None, hint: str | None = None) -> None:
        span = self._place(node) if self._place is not None else _UNKNOWN_PLACE
        self.problems.append(Diagnostic(code, why, span, detail=detail, hint=hint))


def given_of(arguments: Sequence[Typed | Word], clauses: Mapping[str, Typed | Word | DataType]) -> Given:
    """What a declaration gets to see of a call."""
    return Given(
        tuple(DataType(TypeRoot.NULL, nullable=False) if isinstance(item, Word) else item.type for item in arguments),
        tuple(item.text if isinstance(item, Word) else _value(item) for item in arguments),
        {name: _clause_value(value) for name, value in clauses.items()},
    )


def _value(item: Typed) -> object:
    return item.value if isinstance(item, Constant) else None


def _clause_value(value: Typed | Word | DataType) -> object:
    if isinstance(value, Word):
        return value.text
    return value if isinstance(value, DataType) else value.type


def _complete(items: Sequence[Typed | Word | None]) -> TypeGuard[Sequence[Typed]]:
    return all(item is not None for item in items)


def _first_wrong(sign: Signature, arguments: Sequence[Typed | Word]) -> int | None:
    return next((i for i, item in enumerate(arguments) if not _takes(sign.parameter(i), item)), None)


def _takes(parameter: Parameter, item: Typed | Word) -> bool:
    if isinstance(item, Word):
        return item.text in parameter.words
    if parameter.family is WORD or (parameter.literal and not isinstance(item, Constant)):
        return False
    return item.type.root is TypeRoot.NULL or item.type.root in parameter.family.roots


def _how(function: Function) -> str:
    return f"It is written {' or '.join(function.forms)}."


def _in_words(node: exp.Expr) -> str:
    named = next((words for kind, words in _IN_WORDS.items() if isinstance(node, kind)), None)
    if named is not None:
        return named
    return node.sql(dialect="flink") if isinstance(node, exp.Func) else f"{node.key.upper()} expression"
