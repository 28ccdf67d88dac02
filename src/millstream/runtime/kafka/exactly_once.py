"""What an exactly-once job establishes before its first batch.

Whether its progress can be trusted, who writes from now on (a claim), and that nobody else does (fencing). The steps of
the tasks are in delivery/transactional_writer.py.
"""

from __future__ import annotations

import re
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException

from millstream.delivery.claims import claim, newest_claim
from millstream.delivery.committed import offsets_of_group
from millstream.delivery.delivery_error import fenced_error, is_away
from millstream.delivery.id_notes import IDS, forget_ids, read_ids
from millstream.delivery.request import Transactions
from millstream.delivery.transactional_writer import INIT_SECONDS, transactional_producer
from millstream.durable_files import JobFile, damage_error, read_json, write_json
from millstream.errors import Code, Diagnostic, JobError, ScriptError
from millstream.runtime.batch_log import BatchLog
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.client_errors import Question, broker_error
from millstream.runtime.kafka.tables import exactly_once_sinks
from millstream.runtime.kafka.unfinished_batch import require_same_prefix, require_unwritten
from millstream.spark.delivery_failures import undelivered_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from millstream.connectors.kafka.tables import KafkaSink
    from millstream.plan.program import JobPlan
    from millstream.runtime.kafka.clients import KafkaClients

TIMEOUT: Final = "transaction.timeout.ms"
_LONGEST: Final = "transaction.max.timeout.ms"
_RETENTION: Final = "offsets.retention.minutes"
_DEFAULT_TIMEOUT_MS: Final = 900_000
"""The brokers' default. A transaction lasts as long as a task of a batch."""
_LEAST_RETENTION_MINUTES: Final = 1440
_AT_ONCE: Final = 16
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class _Kept:
    """Stored in the checkpoint for one table: the name under which its progress is found."""

    prefix: str
    progress_topic: str
    cluster: str | None


def check_timeout(sink: KafkaSink, admin: KafkaAdmin) -> int:
    """The transaction timeout in milliseconds. Raises if the broker would reject it later."""
    longest = admin.broker_setting(_LONGEST)
    written = sink.properties.get(TIMEOUT)
    if written is None:
        return min(_DEFAULT_TIMEOUT_MS, longest or _DEFAULT_TIMEOUT_MS)
    if longest is not None and int(written) > longest:
        raise ScriptError(
            Diagnostic(
                Code.INVALID_OPTION_VALUE,
                f"option 'properties.{TIMEOUT}' is longer than the broker allows",
                sink.places.value(f"properties.{TIMEOUT}"),
                detail=f"The broker's {_LONGEST} is {longest}.",
                hint=f"Set it to at most {longest}, or leave it out: a transaction lasts no longer than a batch.",
            )
        )
    return int(written)


@dataclass(frozen=True, slots=True)
class Start:
    """A start of a job's query, numbered by its process, which may restart only until another process makes a claim."""

    process: str
    number: int

    def __str__(self) -> str:
        return f"{self.process}.{self.number}"

    def may_follow(self, claim: str) -> bool:
        _run, _, start = claim.partition(" ")
        return self.number == 1 or start.partition(".")[0] == self.process


def open_transactions(
    plan: JobPlan,
    folder: Path,
    clients: KafkaClients,
    notice: Callable[[str], None],
    start: Start,
    *,
    prefixes: Mapping[str, str] | None = None,
    must_be_unwritten: bool = False,
    is_of_other_version: bool = False,
) -> dict[str, Transactions]:
    """The transactions of each exactly-once table. Once they are open, no earlier start can write.

    `prefixes` are those of the previous run; an unfinished batch must continue with them. `must_be_unwritten` refuses a
    batch that is partly written, and says so if another version of Millstream began it.
    """
    sinks = exactly_once_sinks(plan)
    if not sinks:
        return {}
    run, before = _read(folder)
    log = BatchLog(folder)
    pending = log.unfinished
    if prefixes is None:
        prefixes = {name: each.prefix for name, each in before.items()}
    kept: dict[str, _Kept] = {}
    opened: dict[str, Transactions] = {}
    for sink in sinks:
        name, admin = sink.table.name, KafkaAdmin(sink.properties, clients=clients)
        prefix = sink.delivery.transactional_id_prefix
        assert prefix is not None
        kept_topic = before[name].progress_topic if name in before else None
        topic = kept_topic if kept_topic in admin.topics() else _progress_topic(sink, admin)
        assert topic is not None
        kept[name] = _Kept(prefix, topic, admin.cluster())
        if pending is not None:
            require_same_prefix(plan, sink, pending, prefixes.get(name))
            _require_known_progress(plan, sink, admin, log, before=before[name], now=kept[name])
        timeout = check_timeout(sink, admin)
        opened[name] = Transactions(prefix, topic, run, str(start), pending, timeout, str(folder / IDS))
    _write(folder, run, {**before, **kept})
    fenced: set[str] = set()
    for sink in sinks:
        name = sink.table.name
        former = _claim(plan, sink, opened[name], start)
        writers = set() if former is None else _writers_of_another_run(sink, clients, opened[name], former)
        if writers:
            notice(
                f'an earlier run has written with prefix "{opened[name].prefix}" of table "{name}": '
                "what it wrote stays, and this run starts over"
            )
        mine = _fence_all(sink, opened[name], folder / IDS, writers)
        fenced |= mine | writers
        if pending is not None and must_be_unwritten:
            with _translate_failures(sink):
                require_unwritten(plan, sink, pending, opened[name], mine, is_of_other_version=is_of_other_version)
    if pending is None:  # otherwise it must be known who has written a part of it
        forget_ids(folder / IDS, fenced)
    return opened


def _progress_topic(sink: KafkaSink, admin: KafkaAdmin) -> str:
    """Stored in the checkpoint: if a pattern selects the topics, any of them will do, but it must stay the same."""
    if sink.topics:
        return sink.topics[0]
    assert sink.topic_pattern is not None
    pattern = re.compile(sink.topic_pattern)
    return next(topic for topic in admin.topics() if pattern.fullmatch(topic))


def _require_known_progress(
    plan: JobPlan, sink: KafkaSink, admin: KafkaAdmin, log: BatchLog, *, before: _Kept, now: _Kept
) -> None:
    """A repeated batch skips what is already written, so the progress must be known for certain."""
    batch = log.unfinished
    assert batch is not None
    retention = (admin.broker_setting(_RETENTION) or _LEAST_RETENTION_MINUTES) * 60
    age = time.time() - log.start_time(batch)
    if before.cluster != now.cluster:
        why = f"It was written to Kafka cluster {before.cluster}; this one is {now.cluster}."
        hint = "Finish the batch on the old cluster."
    elif age > retention:
        why = f"It was started {age / _DAY:.1f} days ago, and Kafka forgets progress after {retention / _DAY:.1f}."
        hint = "Compare the topic with what was read."
    else:
        return
    # Otherwise the INSERTs of a set would share their scans, and so have a different state.
    again = "run once with at-least-once, which writes it again, or " if len(plan.roots) == 1 else ""
    raise JobError(
        Diagnostic(
            Code.DELIVERY_UNCERTAIN,
            f'it is not known whether batch {batch} of job "{plan.name}" was written to table "{sink.table.name}"',
            sink.table.span,
            detail=why,
            hint=f"{hint} Or {again}start over with --fresh.",
        )
    )


def _claim(plan: JobPlan, sink: KafkaSink, transactions: Transactions, start: Start) -> str | None:
    """Makes the claim, and returns the previous one, of whichever job."""
    with _translate_failures(sink):
        former = newest_claim(sink.properties, transactions)
        if former is not None and not start.may_follow(former):
            failure = fenced_error(transactions.prefix)
            diagnostic = undelivered_error(plan.name, sink.table.name, failure.failure, failure.why)
            raise JobError(replace(diagnostic, span=sink.table.span))
        claim(sink.properties, transactions)
    return former


def _writers_of_another_run(
    sink: KafkaSink, clients: KafkaClients, transactions: Transactions, former: str
) -> set[str]:
    """The ids that have progress; none if the run that made the claim never wrote anything.

    Other groups may have the prefix too: those of readers, and of writers with a longer prefix.
    """
    if transactions.is_of_this_run(former):
        return set()
    admin = KafkaAdmin(sink.properties, clients=clients)
    groups = admin.groups(f"{transactions.prefix}-") - {transactions.claim_group}

    def has_progress(name: str) -> bool:
        offsets = offsets_of_group(sink.properties, name, transactions.progress_topic)
        return any(transactions.is_progress(entry.metadata, former) for entry in offsets)

    with _translate_failures(sink), ThreadPoolExecutor(_AT_ONCE) as threads:
        return {name for name, found in zip(groups, threads.map(has_progress, groups), strict=True) if found}


def _fence_all(sink: KafkaSink, transactions: Transactions, ids: Path, others: set[str]) -> set[str]:
    """Returns the ids that this run has used."""
    mine = {name for name in read_ids(ids) if name.startswith(f"{transactions.prefix}-")}
    with _translate_failures(sink):
        _fence(sink.properties, mine | others, transactions.timeout_ms)
    return mine


@contextmanager
def _translate_failures(sink: KafkaSink) -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        doing = f'the transactions of table "{sink.table.name}" cannot be claimed'
        code = Code.BROKER_UNREACHABLE if is_away(error.args[0]) else Code.BROKER_REFUSED
        question = Question(doing, code, sink.properties, sink.places.value)
        raise broker_error(error, question) from error


def _fence(properties: dict[str, str], ids: Iterable[str], timeout_ms: int) -> None:
    """Aborts what earlier starts left open, also under ids that this one will not use: readers wait for it."""

    def fence(transactional_id: str) -> None:
        transactional_producer(properties, transactional_id, timeout_ms).init_transactions(INIT_SECONDS)

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(fence, ids))


def _read(folder: Path) -> tuple[str, dict[str, _Kept]]:
    file = folder / JobFile.DELIVERY
    found = read_json(file, _parse)
    if found is not None:
        return found
    if (folder / IDS).is_dir():
        raise damage_error(file, "It is missing, although messages have been written exactly-once.")
    return uuid.uuid4().hex[:12], {}


def _parse(content: dict[str, Any]) -> tuple[str, dict[str, _Kept]]:
    return str(content["run"]), {name: _Kept(**kept) for name, kept in content["tables"].items()}


def _write(folder: Path, run: str, kept: dict[str, _Kept]) -> None:
    tables = {name: asdict(entry) for name, entry in kept.items()}
    write_json(folder / JobFile.DELIVERY, {"run": run, "tables": tables})
