"""`SELECT /*+ STATE_TTL('o' = '1d') */`: how long a join keeps the rows of a table, and a grouping its groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.catalog.settings_of_flink import STATE_TTL as SETTING
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.aggregate import Aggregate
from millstream.plan.operators.join import Join
from millstream.spelling import nearest
from millstream.sql.query_hints import LOOKUP, STATE_TTL
from millstream.sql.statements import Name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import timedelta

    from millstream.plan.operators.node import Node
    from millstream.sql.statements import OptionEntry, QueryHint

_TABLE: Final = "table"
"""The option of LOOKUP that names the table."""


def read_state_ttls(hints: Sequence[QueryHint], tree: exp.Select, names: Sequence[str]) -> Mapping[str, timedelta]:
    """By the names of tables after FROM, their aliases if they have one.

    As in Flink, the last entry for a table counts in one hint, and the first hint of several.
    """
    problems = list(_unknown_tables(hints, tree, names))
    ttls: dict[str, timedelta] = {}
    for hint in hints:
        given: dict[str, timedelta] = {}
        for entry in hint.options if hint.name == STATE_TTL else ():
            try:
                given[entry.key] = SETTING.parse(entry.value)
            except ValueError as error:
                problems.append(_no_duration(entry, error))
        ttls = {**given, **ttls}
    if problems:
        raise ScriptError(problems)
    return ttls


def keep_for(ttl: timedelta, node: Node, table: Node) -> Node:
    """The plan with this TTL on what keeps the rows of `table` by themselves: groups, and semi and anti joins.

    Such a table is the first input of all that is done with its rows.
    """
    if node is table:
        return node
    first, *others = node.inputs
    changed = node.with_inputs(keep_for(ttl, first, table), *others)
    match changed:
        case Aggregate():
            return replace(changed, state_ttl=ttl)
        case Join():
            return replace(changed, left_ttl=ttl)
        case _:
            return changed


def _unknown_tables(hints: Sequence[QueryHint], tree: exp.Select, names: Sequence[str]) -> Iterator[Diagnostic]:
    """A hint without effect may speak of tables in WHERE, too."""
    where = tree.args.get("where")
    inside = [table.alias_or_name for table in where.find_all(exp.Table)] if where is not None else []
    for hint in hints:
        known = names if hint.name == STATE_TTL else tuple(dict.fromkeys((*names, *inside, *_own_names(tree))))
        yield from (_unknown_table(hint, table, known) for table in _tables_of(hint) if table.text not in known)


def _own_names(tree: exp.Select) -> Iterator[str]:
    """Of tables with an alias: LOOKUP goes by these."""
    joins = tree.args.get("joins") or ()
    parts = [part.this for part in (tree.args.get("from_"), *joins) if part is not None]
    yield from (part.name for part in parts if isinstance(part, exp.Table))


def _tables_of(hint: QueryHint) -> Iterator[Name]:
    if hint.name == STATE_TTL:
        yield from (Name(entry.key, entry.key_span) for entry in hint.options)
    elif hint.name == LOOKUP:
        yield from (Name(entry.value, entry.value_span) for entry in hint.options if entry.key == _TABLE)
    yield from hint.tables


def _unknown_table(hint: QueryHint, written: Name, known: Sequence[str]) -> Diagnostic:
    meant = nearest(written.text, known)
    reads = f"It reads {', '.join(known)}; a table with an alias goes by it." if known else "It reads no table."
    return Diagnostic(
        Code.UNDEFINED_TABLE,
        f'the hint {hint.name} names "{written.text}", which this SELECT does not read',
        written.span,
        hint=f"Did you mean {meant}?" if meant else reads,
    )


def _no_duration(entry: OptionEntry, error: ValueError) -> Diagnostic:
    return Diagnostic(
        Code.INVALID_OPTION_VALUE,
        f"invalid state TTL of \"{entry.key}\": '{entry.value}'",
        entry.value_span,
        str(error),
    )
