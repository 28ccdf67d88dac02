"""Workloads written for Pathway. Runs in Pathway's own environment, and so imports nothing else.

`python pathway_jobs.py WORKLOAD BROKERS SOURCE OUTPUT CHECKPOINT COMMIT_MS`
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pathway as pw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BACKLOG: Final = 200_000
"""Without a limit the whole topic is read into memory first."""


class View(pw.Schema):  # type: ignore[misc]
    user_id: int
    page_id: int
    viewtime: str
    user_region: str


class Change(pw.Schema):  # type: ignore[misc]
    before_customer: int | None = pw.column_definition(default_value=None)
    before_amount: int | None = pw.column_definition(default_value=None)
    after_customer: int | None = pw.column_definition(default_value=None)
    after_amount: int | None = pw.column_definition(default_value=None)


_PATHS: Final = {
    f"{image}_{name}": f"/{image}/{name}" for image in ("before", "after") for name in ("customer", "amount")
}


@dataclass(frozen=True)
class PathwayJob:
    build: Callable[[Any], Any]
    key: str | None = None
    """The column that partitions the output."""
    schema: Any = View
    paths: Mapping[str, str] | None = None


def _filter_project(views: Any) -> Any:
    even = views.filter(pw.this.page_id % 2 == 0)
    return even.select(
        page_id=pw.this.page_id, user_id=pw.this.user_id * 10, user_region=pw.this.user_region.str.upper()
    )


def _sum_by(key: str) -> Callable[[Any], Any]:
    def build(views: Any) -> Any:
        return views.groupby(pw.this[key]).reduce(
            pw.this[key], pv=pw.reducers.count(), pages=pw.reducers.sum(pw.this.page_id)
        )

    return build


def _nested(views: Any) -> Any:
    per_user = views.groupby(pw.this.user_id).reduce(seen=pw.reducers.count())
    return per_user.groupby(pw.this.seen).reduce(pw.this.seen, users=pw.reducers.count())


def _pairs(views: Any) -> Any:
    return views.groupby(pw.this.user_region).reduce(
        pw.this.user_region, pv=pw.reducers.count(), uv=pw.reducers.count_distinct(pw.this.user_id)
    )


def _debezium(changes: Any) -> Any:
    """Each change as the row before it with sign -1 and the row after it with sign 1."""
    before = changes.filter(pw.this.before_customer.is_not_none()).select(
        customer=pw.unwrap(pw.this.before_customer), amount=-pw.unwrap(pw.this.before_amount), sign=-1
    )
    after = changes.filter(pw.this.after_customer.is_not_none()).select(
        customer=pw.unwrap(pw.this.after_customer), amount=pw.unwrap(pw.this.after_amount), sign=1
    )
    totals = (
        before.concat_reindex(after)
        .groupby(pw.this.customer)
        .reduce(pw.this.customer, orders=pw.reducers.sum(pw.this.sign), total=pw.reducers.sum(pw.this.amount))
    )
    return totals.filter(pw.this.orders > 0)


JOBS: Final[Mapping[str, PathwayJob]] = {
    "pass_json": PathwayJob(lambda views: views),
    "filter_project": PathwayJob(_filter_project),
    "sum_9": PathwayJob(_sum_by("user_region"), "user_region"),
    "sum_1m": PathwayJob(_sum_by("user_id"), "user_id"),
    "nested": PathwayJob(_nested, "seen"),
    "pv_uv_2m": PathwayJob(_pairs, "user_region"),
    "pv_uv_18m": PathwayJob(_pairs, "user_region"),
    "debezium": PathwayJob(_debezium, "customer", Change, _PATHS),
}


def main() -> None:
    name, brokers, source, output, checkpoint, commit_ms = sys.argv[1:]
    job = JOBS[name]
    settings = {"bootstrap.servers": brokers, "group.id": output, "auto.offset.reset": "earliest"}
    rows = pw.io.kafka.read(
        settings,
        source,
        schema=job.schema,
        format="json",
        json_field_paths=job.paths,
        autocommit_duration_ms=int(commit_ms),
        max_backlog_size=_BACKLOG,
        name="input",
    )
    results = job.build(rows)
    if job.key:
        results = results.with_columns(key=pw.cast(str, results[job.key]))
    pw.io.kafka.write(results, settings, output, format="json", key=results.key if job.key else None)
    backend = pw.persistence.Backend.filesystem(checkpoint)
    pw.run(
        monitoring_level=pw.MonitoringLevel.NONE,
        persistence_config=pw.persistence.Config(backend, snapshot_interval_ms=10_000),
    )


if __name__ == "__main__":
    main()
