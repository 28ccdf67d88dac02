"""What settings say to the planner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.catalog.settings import AGGREGATE_NATIVE, NativeAggregate
from millstream.catalog.settings_of_flink import (
    CDC_EVENTS_DUPLICATE,
    STATE_TTL,
    UPSERT_MATERIALIZE,
    UpsertMaterialize,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class PlanSettings:
    upsert_materialize: UpsertMaterialize = UpsertMaterialize.AUTO
    cdc_events_duplicate: bool = False
    state_expires: bool = False
    aggregate_native: NativeAggregate = NativeAggregate.AUTO


def plan_settings(settings: Mapping[str, str]) -> PlanSettings:
    """All of them have been checked before."""
    materialize, duplicate = settings.get(UPSERT_MATERIALIZE.key), settings.get(CDC_EVENTS_DUPLICATE.key)
    ttl, native = settings.get(STATE_TTL.key), settings.get(AGGREGATE_NATIVE.key)
    return PlanSettings(
        UPSERT_MATERIALIZE.parse(materialize) if materialize else UpsertMaterialize.AUTO,
        CDC_EVENTS_DUPLICATE.parse(duplicate) if duplicate else False,
        state_expires=bool(STATE_TTL.parse(ttl)) if ttl else False,
        aggregate_native=AGGREGATE_NATIVE.parse(native) if native else NativeAggregate.AUTO,
    )
