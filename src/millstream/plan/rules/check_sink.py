"""Refuse a plan whose changes the sink cannot take, naming the step that makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.catalog.settings_of_flink import UPSERT_MATERIALIZE
from millstream.changelog import INSERT_ONLY, RowKind, letters
from millstream.connectors.kafka.sink_options import SINK_PARALLELISM
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.changelog import provided, upsert_key
from millstream.plan.nodes import Aggregate, Collect, Expand, Node, Scan, Values

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.connectors.tables import Sink
    from millstream.plan.nodes import Root


def check_sink(plan: Root, settings: JobSettings) -> Root:
    if isinstance(plan, Collect):
        return plan  # whoever looks at it can see any change
    kinds = provided(plan.input)
    if kinds == INSERT_ONLY:
        return plan
    sink, key = plan.sink, upsert_key(plan.input)
    key_ddl = f"PRIMARY KEY ({', '.join(key)}) NOT ENFORCED" if key else "PRIMARY KEY (…) NOT ENFORCED"
    if RowKind.UPDATE_AFTER not in sink.accepts:
        raise ScriptError(
            Diagnostic(
                Code.SINK_REFUSES_CHANGES,
                f'table sink "{sink.table.name}" accepts inserts only',
                plan.span,
                detail=_who_updates(plan.input, kinds),
                hint=_how_to_take_changes(sink, key_ddl),
            )
        )
    goes_by_key = RowKind.UPDATE_BEFORE not in sink.accepts
    if goes_by_key and (key is None or set(key) != set(sink.table.primary_key)):
        raise ScriptError(
            Diagnostic(
                Code.SINK_KEY_DIFFERS,
                f'the query updates its rows by another key than the primary key of sink "{sink.table.name}"',
                plan.span,
                detail=f"Query: [{', '.join(key or ())}]. Sink: [{', '.join(sink.table.primary_key)}]. "
                f"'{UPSERT_MATERIALIZE.key}' is {settings.upsert_materialize}.",
                hint=f'Declare "{sink.table.name}" with {key_ddl}, or RESET the setting.'
                if key
                else _how_to_get_a_key(plan.input),
            )
        )
    if sink.parallelism is not None and not sink.table.primary_key:
        raise ScriptError(
            Diagnostic(
                Code.MISSING_PRIMARY_KEY,
                f"table \"{sink.table.name}\" needs a primary key, because its '{SINK_PARALLELISM.key}' is set",
                plan.span,
                detail=f"The query gives [{letters(kinds)}]; by a key, the changes of a row stay in their order.",
                hint=f"Add {key_ddl}, or remove '{SINK_PARALLELISM.key}'.",
            )
        )
    return plan


def _how_to_take_changes(sink: Sink, key_ddl: str) -> str:
    if sink.retracts_by_key:
        return f'Add {key_ddl} to "{sink.table.name}": a row that is taken back is then a message without value.'
    upsert = f"Declare \"{sink.table.name}\" with 'connector' = 'upsert-kafka' and {key_ddl}"
    return f"{upsert}: a later row then replaces the earlier one of its key."


def _how_to_get_a_key(node: Node) -> str:
    updating = _updating(node)
    if isinstance(updating, Scan):
        return f'Select the primary key of "{updating.source.table.name}", each column as it is.'
    if not updating.keys:
        return "Add GROUP BY: without it there is one row and no key to write it by."
    if isinstance(updating.input, Expand):
        return "Rows of several grouping sets have no key in common: RESET the setting."
    return "Select every column of GROUP BY, each into a primary key column of the same type."


def _updating(node: Node) -> Aggregate | Scan:
    """The topmost step that makes updates out of what it gets, or reads them."""
    while not isinstance(node, Aggregate | Scan):
        assert not isinstance(node, Values), "values are never updated"
        node = node.input
    return node


def _who_updates(node: Node, kinds: frozenset[RowKind]) -> str:
    symbols = ", ".join(kind.symbol for kind in sorted(kinds))
    updating = _updating(node)
    who = f'Table "{updating.source.table.name}"' if isinstance(updating, Scan) else "The aggregate"
    return f"{who} at line {updating.span.line} gives updates ({symbols})."
