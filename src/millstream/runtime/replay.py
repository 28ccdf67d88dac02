"""Decides which changes to a job allow it to redo an unfinished batch.

Writers that have committed their part of the batch are skipped, and the others write theirs as the script is now. A
change thus takes effect between two writers instead of between two batches, which is equally correct for a writer that
gets its rows directly from one partition or file. Where rows reach writers through an exchange, its input must be the
same as before, or a row could be missing, appear twice, or contradict the state; otherwise nothing of the batch may be
written yet. See docs/recovery.md.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from millstream.catalog.settings_of_flink import LOCAL_TIME_ZONE, STATE_TTL
from millstream.plan.definitions import expressions_below
from millstream.plan.operators.node import walk
from millstream.plan.operators.roots import Write
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.union import Union
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.typed import Call, Constant, Conversion, FieldOf, InputColumn, UserCall, user_functions_in
from millstream.runtime.kafka.tables import exactly_once_sinks
from millstream.source import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.program import JobPlan

_VERSION: Final = 2
_LEFT_OUT: Final = ("table", "properties", "span", "notices", "places", "id")
"""The name, columns and connection of a table: what matters of them is in the nodes too."""
_FAILS: Final = "fail"
_ON_ERRORS: Final = ("ignore_parse_errors", "dead_letters", "fails_on_data_loss")
"""How a source handles messages that it cannot decode; compared separately from what it returns."""
_OF_OTHER_BATCHES: Final = ("start", "discovery", "max_batch_records", "idle_timeout", "lookup")
"""What an unfinished batch reads is in the checkpoint, whatever these options say now."""

_OF_RESULTS: Final = ("emits_before", "repeats")
"""Which results an operator emits, which depends on what reads them."""

_ADDED_LATER: Final = {
    ("Join", "kind"): "inner",
    ("Join", "condition"): None,
    ("Join", "mark"): None,
    ("Join", "left_ttl"): None,
    ("Join", "right_ttl"): None,
    ("Aggregate", "state_ttl"): None,
}
"""Fields that nodes got after the first checksums of this version, with the value that says the same as none."""
_NO_VALUE: Final = object()

_OF_STATE: Final = (STATE_TTL.key, LOCAL_TIME_ZONE.key)
"""Settings that change the state and are in no node of the plan."""


@dataclass(frozen=True, slots=True)
class ReplayIdentity:
    """What decides which rows a writer of a batch gets, and where its progress is found."""

    version: int
    """The version that computed `exchanged`: checksums of different versions cannot be compared."""
    prefixes: Mapping[str, str]
    """The transactional id prefix of each exactly-once table."""
    exchanged: str | None = None
    """A checksum of what goes through exchanges; None if all rows are written directly from where they are read."""
    on_error: tuple[str, ...] = ()
    """For each scan, what happens to a message that cannot be read."""

    @classmethod
    def of(cls, job: JobPlan) -> Self:
        prefixes = {sink.table.name: sink.delivery.transactional_id_prefix or "" for sink in exactly_once_sinks(job)}
        inputs = [_describe_exchange(root, in_a_set=len(job.roots) > 1) for root in job.roots]
        if not any(inputs):
            return cls(_VERSION, prefixes)
        settings = sorted(each for each in job.setting_texts if each[0] in _OF_STATE)
        content = repr((inputs, settings))
        return cls(
            _VERSION,
            prefixes,
            hashlib.sha256(content.encode()).hexdigest()[:32],
            tuple(_on_error(scan) for root in job.roots for scan in _scans(root)),
        )

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        return cls(kept.get("version", 1), kept["prefixes"], kept["exchanged"], tuple(kept["on_error"]))

    def to_json(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "prefixes": self.prefixes,
            "exchanged": self.exchanged,
            "on_error": list(self.on_error),
        }

    def is_comparable(self, before: ReplayIdentity) -> bool:
        """Whether the two can be compared: a batch that an earlier version began must be finished by that version."""
        return self.version == before.version or self.exchanged is None is before.exchanged

    def may_finish(self, before: ReplayIdentity) -> bool:
        """Whether this job may write the rest of a batch that a job of identity `before` has partly written.

        A writer has committed only if nothing failed; as far as its part goes, a job that fails on errors and one that
        does not are the same.
        """
        return (
            self.exchanged == before.exchanged
            and len(self.on_error) == len(before.on_error)
            and all(
                now == then or _FAILS in (now, then) for now, then in zip(self.on_error, before.on_error, strict=True)
            )
        )


def _describe_exchange(node: Node, *, in_a_set: bool) -> Any:
    """The part of the plan below the last exchange, with the exchange; None if there is none.

    The writers of a statement set are numbered by their INSERT, so the whole set counts.
    """
    match node:
        case Write() if node.sink.parallelism is not None:
            return (node.sink.parallelism, node.sink.exchange_keys, _describe_input(node.inputs[0]))
        case Scan() if node.source.spreads_rows_by_number:
            return _describe_input(node)
        case Union():
            return _describe_input(node)  # writers are identified by the number of their query
        case _ if node.keeps_state or (in_a_set and node.inputs):
            return _describe_input(node)
    below = [_describe_exchange(each, in_a_set=in_a_set) for each in node.inputs]
    if len(below) == 1:
        return below[0]
    return tuple(below) if any(below) else None


def _describe_input(node: Node) -> Any:
    """Adds what is in no field of a node: which messages are read, and what the user's functions are."""
    committed = [scan.source.reads_committed for scan in _scans(node)]
    called = (function for expression in expressions_below(node) for function in user_functions_in(expression))
    functions = sorted({function.implementation for function in called})
    return _describe(node, left_out=(*_ON_ERRORS, *_OF_OTHER_BATCHES, *_OF_RESULTS)), committed, functions


def _scans(node: Node) -> list[Scan]:
    return [each for each in walk(node) if isinstance(each, Scan)]


def combine_on_error(then: Sequence[str], now: Sequence[str]) -> list[str]:
    """How two jobs that wrote parts of one batch handled unreadable messages, unless they failed on them."""
    return [before if after == _FAILS else after for before, after in zip(then, now, strict=True)]


def _on_error(scan: Scan) -> str:
    if scan.source.has_dead_letters:
        return "set aside"
    return "skip" if _skips_errors(scan.source) else _FAILS


def _skips_errors(value: Any) -> bool:
    """Whether a format inside it skips errors, wherever it has that option."""
    if not is_dataclass(value):
        return False
    parts = {part.name: getattr(value, part.name) for part in fields(value)}
    return parts.get("ignore_parse_errors", False) or any(map(_skips_errors, parts.values()))


def _describe(value: Any, left_out: Collection[str] = ()) -> Any:
    """The value without positions in the script, and without fields of the given names."""
    if isinstance(value, InputColumn | Constant | Call | UserCall | Conversion | FieldOf):
        return sql_text(value)
    if is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in fields(value) if field.name not in (*_LEFT_OUT, *left_out))
        node = type(value).__name__
        parts = ((name, getattr(value, name)) for name in names)
        said = ((name, part) for name, part in parts if part != _ADDED_LATER.get((node, name), _NO_VALUE))
        return (node, *((name, _describe(part, left_out)) for name, part in said if not isinstance(part, Span)))
    if isinstance(value, dict):
        return tuple(sorted((str(key), repr(_describe(part, left_out))) for key, part in value.items()))
    if isinstance(value, tuple | list):
        return tuple(_describe(part, left_out) for part in value)
    if isinstance(value, set | frozenset):
        return tuple(sorted(repr(_describe(part, left_out)) for part in value))
    return str(value)
