"""Decode only the columns that somebody above needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import N
    from millstream.plan.operators.roots import Root


def prune_columns(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    return _prune(plan, frozenset(column.name for column in plan.columns))


def _prune(node: N, needed: frozenset[str]) -> N:
    pruned, of_inputs = node.prune(needed)
    return pruned.with_inputs(*(_prune(below, wanted) for below, wanted in zip(node.inputs, of_inputs, strict=True)))
