"""What settings say to the planner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.catalog.settings_of_flink import CDC_EVENTS_DUPLICATE, UPSERT_MATERIALIZE, UpsertMaterialize

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class PlanSettings:
    upsert_materialize: UpsertMaterialize = UpsertMaterialize.AUTO
    cdc_events_duplicate: bool = False


def plan_settings(settings: Mapping[str, str]) -> PlanSettings:
    """All of them have been checked before."""
    materialize, duplicate = settings.get(UPSERT_MATERIALIZE.key), settings.get(CDC_EVENTS_DUPLICATE.key)
    return PlanSettings(
        UPSERT_MATERIALIZE.parse(materialize) if materialize else UpsertMaterialize.AUTO,
        CDC_EVENTS_DUPLICATE.parse(duplicate) if duplicate else False,
    )
