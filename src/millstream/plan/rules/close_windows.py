"""Joins and first rows of windows wait until the windows have ended, and then are final."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.assign_sessions import AssignSessions
from millstream.plan.operators.join import Join
from millstream.plan.operators.node import transform, walk
from millstream.plan.operators.rank import Rank
from millstream.plan.operators.window_join import WindowJoin
from millstream.plan.operators.window_rank import WindowRank

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root


def close_windows(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    closed = plan.with_inputs(*(transform(below, _close) for below in plan.inputs))
    problems = [_updates_in_sessions(node) for node in walk(closed) if _reads_updates(node)]
    if problems:
        raise ScriptError(problems)
    return closed


def _reads_updates(node: Node) -> bool:
    return isinstance(node, AssignSessions) and not all(below.is_insert_only for below in node.inputs)


def _updates_in_sessions(node: Node) -> Diagnostic:
    return Diagnostic(
        Code.UNSUPPORTED_STATEMENT,
        "session windows over rows that are updated are not supported yet",
        node.span,
        detail="A row that is retracted may divide a session.",
        hint="Use TUMBLE, HOP or CUMULATE, whose windows do not depend on the rows.",
    )


def _close(node: Node) -> Node:
    match node:
        case Rank() if node.reads_inserts and node.window is not None and node.window.among(node.keys) is not None:
            return WindowRank.of(node)
        case Join() if node.left.is_insert_only and node.right.is_insert_only and _is_of_windows(node):
            return WindowJoin.of(node)
        case _:
            return node


def _is_of_windows(join: Join) -> bool:
    """Whether rows meet those of the same window only."""
    left, right = join.left.window, join.right.window
    if left is None or right is None:
        return False
    pairs = set(zip(join.left_keys, join.right_keys, strict=True))
    return {(left.start, right.start), (left.end, right.end)} <= pairs
