"""The state of a job as versions 1 and 2 of the identity described it in a checkpoint: as text.

A job that an earlier version began resumes if its description is the same. New checkpoints hold data: job_identity.py.
"""

from __future__ import annotations

import hashlib
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from millstream.aggregates.registry import aggregate_function
from millstream.plan.operators.aggregate import Aggregate
from millstream.plan.operators.expand import Expand
from millstream.plan.operators.materialise import Materialise
from millstream.plan.operators.normalise import Normalise
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.values import Values
from millstream.plan.resolver.earlier_text import earlier_definitions, quote_name
from millstream.plan.resolver.sql_text import sql_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from millstream.plan.operators.aggregate import AggregateCall
    from millstream.plan.physical.nodes import PhysicalNode, PhysicalPlan
    from millstream.plan.program import JobPlan

NATIVELY: Final = " natively"
"""Marks state of Spark's own operator, which the kernel cannot read."""
OF_CHANGES: Final = " of rows that may go"
"""Marks an aggregate over a changelog, which keeps more than one over inserts."""
_INPUT: Final = "input of the aggregate"
_IN_WORDS: Final = {_INPUT: {OF_CHANGES: "rows that may go", "": "rows that stay"}}
_STEPS: Final = (
    (re.compile(r"read (.*)"), ("source",)),
    (
        re.compile(rf"group by \[(.*)\] compute \[(.*)\]((?:{OF_CHANGES})?)"),
        ("GROUP BY", "aggregates", _INPUT),
    ),
    (re.compile(r"in sets (.*)"), ("grouping sets",)),
    (
        re.compile(r"keep rows \[(.*?)\] by \[(.*?)\](?:, the last by \[(.*)\])?"),
        ("columns of the rows that are kept", "key of them", "key of the query"),
    ),
    (re.compile(r"values (.*)"), ("rows of VALUES, by their checksum",)),
)


def describe_state(job: JobPlan, identity: int) -> list[str]:
    """Version 1 left out the FILTER of ARRAY_AGG and everything below a WHERE."""
    return [step for root in job.physical.roots for step in _state_shape(root, job.physical, identity)]


def _state_shape(node: PhysicalNode, plan: PhysicalPlan, identity: int) -> Iterator[str]:
    """What the checkpoint depends on: what is read, and what is stored under which key."""
    operator = node.operator
    match operator:
        case Scan():
            yield f"read {operator.source.reads}{' together' if plan.is_shared(operator.id) else ''}"
        case Values():
            rows = "; ".join(", ".join(sql_text(value, dialect=None) for value in row) for row in operator.rows)
            yield f"values {hashlib.sha256(rows.encode()).hexdigest()[:16]}"
        case Aggregate():
            yield from _aggregate_shape(operator, identity)
        case Normalise() | Materialise():
            defined = earlier_definitions(operator.inputs[0]) if identity > 1 else {}
            columns = ", ".join(
                f"{column.name} {column.type}{_definition(column.name, defined)}" for column in operator.columns
            )
            replaced = ""
            if isinstance(operator, Materialise) and operator.replaced_by:
                replaced = f", the last by [{', '.join(operator.replaced_by)}]"
            yield f"keep rows [{columns}] by [{', '.join(operator.keys)}]{replaced}"
    for below in node.inputs:
        yield from _state_shape(below, plan, identity)


def _aggregate_shape(operator: Aggregate, identity: int) -> Iterator[str]:
    [inputs] = operator.inputs
    expanded = inputs if isinstance(inputs, Expand) else None
    if expanded is not None:
        [inputs] = expanded.inputs
    defined = earlier_definitions(inputs, through_projections=identity > 1)
    below = {name: f"{defined[name]} {type_}" for name, type_ in inputs.column_types().items()}
    keys = ", ".join(below[key] for key in operator.keys if key in below)

    def describe(call: AggregateCall) -> str:
        parts = aggregate_function(call.function).state_of(
            below.get(call.argument or ""),
            distinct=call.distinct,
            condition=defined[call.filter] if call.filter is not None and identity > 1 else None,
            parameters=call.parameters,
        )
        # OF_CHANGES says how values are stored, once for all calls.
        describe = ((part, text) for part, text in parts if part != "values")
        return " ".join(f"FILTER (WHERE {text})" if part == "filter" else text for part, text in describe)

    calls = ", ".join(map(describe, operator.calls))
    of_changes = OF_CHANGES if operator.keeps_more_for_changes else ""
    yield f"group by [{keys}] compute [{calls}]{of_changes}"
    if expanded is not None:
        yield f"in sets {', '.join(str([below[key] for key in kept]) for kept in expanded.sets)}"


def _definition(name: str, defined: Mapping[str, str]) -> str:
    """The expression that defines a column, unless it is the table's column of the same name."""
    found = defined.get(name)
    return "" if found is None or found == quote_name(name) else f" = {found}"


def describe_changes(before: Sequence[str], now: Sequence[str]) -> str:
    """The differences between two states, as sentences: what was, and what is."""
    was, is_ = _parts(before), _parts(now)
    changes: list[str] = []
    for kind, i, j, k, n in SequenceMatcher(a=was, b=is_, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        pairs = zip(was[i:j], is_[k:n], strict=True) if j - i == n - k else ()
        same_names = [(old, new) for old, new in pairs if old[0] == new[0]]
        if j - i == n - k == len(same_names):
            changes += [f"{old[0]}: was {old[1]}, is {new[1]}." for old, new in same_names]
        else:
            changes += [f"{name}: {value} has been removed." for name, value in was[i:j]]
            changes += [f"{name}: {value} has been added." for name, value in is_[k:n]]
    return " ".join(changes)


def _parts(state: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for step in state:
        for pattern, names in _STEPS:
            if match := pattern.fullmatch(step):
                found += ((name, _in_words(name, text)) for name, text in zip(names, match.groups(""), strict=True))
    return found


def _in_words(name: str, text: str) -> str:
    return _IN_WORDS.get(name, {}).get(text, f"[{text}]")
