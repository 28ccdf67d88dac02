"""Chooses how the messages of a job are delivered, at each start of its query."""

from __future__ import annotations

import uuid
from itertools import count
from typing import TYPE_CHECKING

from millstream.delivery.client import place_for_sockets
from millstream.runtime.kafka.exactly_once import Start, open_transactions
from millstream.runtime.kafka.request_limits import find_request_limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.program import JobPlan
    from millstream.runtime.checkpoint import JobFolder
    from millstream.runtime.kafka.clients import KafkaClients
    from millstream.spark.delivery import Dispatch


class Dispatching:
    def __init__(self, plan: JobPlan, folder: JobFolder, clients: KafkaClients, notice: Callable[[str], None]) -> None:
        self._clients = clients
        self._plan = plan
        self._folder = folder
        self._notice = notice
        self._prefixes = folder.prefixes
        self._must_be_unwritten = folder.must_be_unwritten
        self._place = place_for_sockets(folder.run_folder)
        self._process = uuid.uuid4().hex[:12]
        self._numbers = count(1)
        self._limits: dict[str, int] | None = None

    def begin(self) -> Dispatch:
        """A restarted query may have a batch to finish, and tasks of the previous query may still be running."""
        from millstream.spark.delivery import Dispatch

        start = Start(self._process, next(self._numbers))
        transactions = open_transactions(
            self._plan,
            self._folder.path,
            self._clients,
            self._notice,
            start,
            prefixes=self._prefixes,
            must_be_unwritten=self._must_be_unwritten,
            is_of_other_version=self._folder.is_of_other_version,
        )
        # From here on, what is written belongs to this job.
        self._prefixes, self._must_be_unwritten = None, False
        if self._limits is None:
            self._limits = find_request_limits(self._plan, self._clients)
        return Dispatch(self._place, transactions, self._limits)
