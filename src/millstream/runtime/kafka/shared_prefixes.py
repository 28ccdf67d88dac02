"""Finds jobs of a script that would fence each other because they share a transactional id prefix."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.sink_options import TRANSACTIONAL_ID_PREFIX
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.clients import KafkaClients
from millstream.runtime.kafka.tables import exactly_once_sinks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from millstream.connectors.kafka.tables import KafkaSink
    from millstream.plan.program import JobPlan

_PROTOCOL: Final = re.compile(r"^\w+://")


def servers_of(sink: KafkaSink) -> frozenset[str]:
    """A guess without asking a broker: clusters that have a server in common are the same."""
    written = (server.strip().lower() for server in sink.properties["bootstrap.servers"].split(","))
    return frozenset(_PROTOCOL.sub("", server) for server in written if server)


def find_shared_prefixes(
    jobs: Iterable[JobPlan], cluster_of: Callable[[KafkaSink], frozenset[str]] = servers_of
) -> Iterator[Diagnostic]:
    owners: dict[str, list[tuple[frozenset[str], str]]] = {}
    for job in jobs:
        for sink in exactly_once_sinks(job):
            prefix, cluster = sink.delivery.transactional_id_prefix, cluster_of(sink)
            assert prefix is not None
            before = owners.setdefault(prefix, [])
            owner = next((name for other, name in before if name != job.name and other & cluster), None)
            before.append((cluster, job.name))
            if owner is not None:
                yield Diagnostic(
                    Code.CONFLICTING_OPTIONS,
                    f'jobs "{owner}" and "{job.name}" write with the same prefix of transactions, "{prefix}"',
                    sink.places.value(TRANSACTIONAL_ID_PREFIX.key),
                    detail="The one that starts last would stop the other.",
                    hint="Write both INSERTs in one statement set, or declare the table twice, with two prefixes.",
                )


def refuse_shared_prefixes(jobs: Iterable[JobPlan]) -> None:
    """Asks the brokers for their cluster id where that decides."""
    jobs = tuple(jobs)
    if not any(find_shared_prefixes(jobs, lambda _sink: frozenset({"any"}))):
        return
    if problems := list(find_shared_prefixes(jobs, partial(_ask_cluster, clients=KafkaClients()))):
        raise ScriptError(problems)


def _ask_cluster(sink: KafkaSink, clients: KafkaClients) -> frozenset[str]:
    cluster = KafkaAdmin(sink.properties, clients=clients).cluster()
    return servers_of(sink) if cluster is None else frozenset({cluster})
