"""An upsert sink whose primary key is not the key the query updates by gets a step that keeps them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.catalog.settings_of_flink import UpsertMaterialize
from millstream.changelog import INSERT_ONLY, goes_by_key
from millstream.plan.operators.materialise import Materialise
from millstream.plan.operators.roots import Write

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.roots import Root


def materialise_before_sink(plan: Root, settings: JobSettings) -> Root:
    if not isinstance(plan, Write) or not goes_by_key(plan.sink.accepts):
        return plan
    primary = plan.sink.table.primary_key
    forced = settings.upsert_materialize is UpsertMaterialize.FORCE
    differs = plan.upsert_key is None or set(plan.upsert_key) != set(primary)
    if settings.upsert_materialize is UpsertMaterialize.NONE or not (differs or forced):
        return plan
    if plan.changelog == INSERT_ONLY and not forced:
        return plan
    [below] = plan.inputs
    return plan.with_inputs(Materialise(below, primary, plan.upsert_key or (), plan.span))
