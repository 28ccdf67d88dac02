"""Refuse a plan whose changes the sink cannot take, naming the step that makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.catalog.settings_of_flink import UPSERT_MATERIALIZE
from millstream.changelog import INSERT_ONLY, RowKind, goes_by_key, letters
from millstream.connectors.kafka.sink_options import SINK_PARALLELISM
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.node import walk
from millstream.plan.operators.roots import Collect

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.connectors.tables import Sink
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root


def check_sink(plan: Root, settings: JobSettings) -> Root:
    if isinstance(plan, Collect) or plan.changelog == INSERT_ONLY:
        return plan  # whoever looks at a SELECT can see any change
    kinds, sink, key = plan.changelog, plan.sink, plan.upsert_key
    key_ddl = f"PRIMARY KEY ({', '.join(key)}) NOT ENFORCED" if key else "PRIMARY KEY (…) NOT ENFORCED"
    updating = _updating(plan)
    if RowKind.UPDATE_AFTER not in sink.accepts:
        symbols = ", ".join(kind.symbol for kind in sorted(kinds))
        what = "updates" if RowKind.UPDATE_AFTER in kinds else "deletes"
        raise ScriptError(
            Diagnostic(
                Code.SINK_REFUSES_CHANGES,
                f'table sink "{sink.table.name}" accepts inserts only',
                plan.span,
                detail=f"{updating.updater} at line {updating.span.line} gives {what} ({symbols}).",
                hint=_how_to_take_changes(sink, key_ddl),
            )
        )
    if goes_by_key(sink.accepts) and (key is None or set(key) != set(sink.table.primary_key)):
        raise ScriptError(
            Diagnostic(
                Code.SINK_KEY_DIFFERS,
                f'the query updates its rows by a different key than the primary key of sink "{sink.table.name}"',
                plan.span,
                detail=f"Query: [{', '.join(key or ())}]. Sink: [{', '.join(sink.table.primary_key)}]. "
                f"'{UPSERT_MATERIALIZE.key}' is {settings.upsert_materialize}.",
                hint=f'Declare "{sink.table.name}" with {key_ddl}, or RESET the setting.'
                if key
                else updating.key_advice,
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
        return f'Add {key_ddl} to "{sink.table.name}": a retracted row is then a message without a value.'
    upsert = f"Declare \"{sink.table.name}\" with 'connector' = 'upsert-kafka' and {key_ddl}"
    return f"{upsert}: a later row then replaces the earlier one of its key."


def _updating(plan: Node) -> Node:
    """The topmost operator that makes changes other than inserts, or reads them."""
    return next(node for node in walk(plan) if node.changelog != INSERT_ONLY and _is_origin(node))


def _is_origin(node: Node) -> bool:
    return not node.inputs or node.keeps_state
