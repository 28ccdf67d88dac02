"""An upsert sink whose primary key is not the key the query updates by gets a step that keeps them apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.catalog.settings_of_flink import UpsertMaterialize
from millstream.changelog import INSERT_ONLY, RowKind
from millstream.plan.changelog import provided, upsert_key
from millstream.plan.nodes import Materialise, Write

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.nodes import Root


def materialise_before_sink(plan: Root, settings: JobSettings) -> Root:
    if not isinstance(plan, Write) or not _goes_by_key(plan):
        return plan
    primary, updated_by = plan.sink.table.primary_key, upsert_key(plan.input)
    forced = settings.upsert_materialize is UpsertMaterialize.FORCE
    differs = updated_by is None or set(updated_by) != set(primary)
    if settings.upsert_materialize is UpsertMaterialize.NONE or not (differs or forced):
        return plan
    if provided(plan.input) == INSERT_ONLY and not forced:
        return plan
    return replace(plan, input=Materialise(plan.input, primary, updated_by or (), plan.span))


def _goes_by_key(plan: Write) -> bool:
    """A sink that takes old rows too needs no key to find them by."""
    accepts = plan.sink.accepts
    return RowKind.UPDATE_AFTER in accepts and RowKind.UPDATE_BEFORE not in accepts
