"""The rules every logical plan passes through, in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.rules.bound_ranks import bound_ranks
from millstream.plan.rules.break_ties import break_ties, check_arrival
from millstream.plan.rules.check_lookups import check_lookups
from millstream.plan.rules.check_order import check_order
from millstream.plan.rules.check_sink import check_sink
from millstream.plan.rules.close_windows import close_windows
from millstream.plan.rules.drop_watermarks import drop_watermarks
from millstream.plan.rules.filter_before_unnesting import filter_before_unnesting
from millstream.plan.rules.find_interval_joins import find_interval_joins
from millstream.plan.rules.find_versions import find_versions
from millstream.plan.rules.materialise_before_sink import materialise_before_sink
from millstream.plan.rules.merge_projections import merge_projections
from millstream.plan.rules.normalise_sources import normalise_sources
from millstream.plan.rules.prune_columns import prune_columns
from millstream.plan.rules.settle_before_images import settle_before_images

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.roots import Root

RULES: Final[tuple[Callable[[Root, JobSettings], Root], ...]] = (
    filter_before_unnesting,
    bound_ranks,
    break_ties,
    close_windows,
    find_interval_joins,
    find_versions,
    drop_watermarks,
    normalise_sources,
    prune_columns,
    merge_projections,
    materialise_before_sink,
    settle_before_images,
    check_arrival,
    check_lookups,
    check_order,
    check_sink,
)
