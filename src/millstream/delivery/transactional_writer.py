"""Exactly-once, step by step. A crash after any step does the batch again, and step 2 decides.

1. `init_transactions` fences whoever else writes under the same id, and aborts what it left open.
2. The writer's progress is read: a batch that is already written is skipped.
3. A transaction begins, and all messages are produced.
4. The progress, batch + 1, goes into the same transaction.
5. The transaction is committed; only then does the task end, and when all tasks have, Spark ends the batch.

Why there is a claim as well, and who numbers the writers: docs/adr/0011-delivery-processes.md.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException, Producer

from millstream.connectors.kafka.producer_settings import producer_settings
from millstream.delivery.claims import newest_claim
from millstream.delivery.committed import entry, group
from millstream.delivery.delivery_error import DeliveryError, Failure, fenced_error, is_fenced, refusal_error
from millstream.delivery.id_notes import note_id
from millstream.delivery.messages import PRODUCER_ROOM, produce
from millstream.delivery.timeouts import call_with_timeout
from millstream.failpoints import reach

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from millstream.delivery.request import DeliveryRequest, Transactions

INIT_SECONDS: Final = 60.0
PROGRESS_SECONDS: Final = 30.0
"""The client may wait forever for a coordinator that was restarted, whatever its timeout: ADR 11."""
_ABORT_SECONDS: Final = 10.0


def transactional_producer(properties: Mapping[str, str], transactional_id: str, timeout_ms: int) -> Producer:
    return Producer(
        {
            **producer_settings(properties, transactional=True),
            **PRODUCER_ROOM,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
        }
    )


class TransactionalWriter:
    """Holds one transactional id from batch to batch; after a failure it starts again from step 1."""

    def __init__(self, properties: Mapping[str, str], transactions: Transactions, writer: str) -> None:
        self._properties = properties
        self._transactions = transactions
        self._writer = writer
        self._id = transactions.id_of(writer)
        self._producer: Producer | None = None
        self._progress = 0
        self._progress_is_ours = False
        self._group: Any = None

    def deliver(self, request: DeliveryRequest, batches: Iterable[pa.RecordBatch]) -> None:
        try:
            producer = self._producer or self._open()
            if self._is_written(request.batch):
                return
            self._write(producer, request, batches)
        except BaseException as error:
            self.close()
            if isinstance(error, KafkaException):
                raise self._explain(error) from error
            raise

    def close(self) -> None:
        """An open transaction is aborted; if that fails, the next step 1 does it."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaException):
                producer.abort_transaction(_ABORT_SECONDS)

    def _open(self) -> Producer:
        transactions = self._transactions
        _note(transactions, self._writer)
        # 1. Fence.
        reach("before-init")
        producer = transactional_producer(self._properties, self._id, transactions.timeout_ms)
        producer.init_transactions(INIT_SECONDS)
        self._require_claim()
        # 2. Progress.
        with group(self._properties, self._id, transactions.progress_topic) as progress:
            found = progress.read()
            self._group = progress.metadata
        ours = found is not None and transactions.is_of_this_run(found[1])
        self._progress = found[0] if found is not None and ours else 0
        self._progress_is_ours = found is not None and found[1] == transactions.claim
        self._producer = producer
        return producer

    def _is_written(self, batch: int) -> bool:
        if self._progress <= batch:
            return False
        if self._progress == batch + 1 and (self._progress_is_ours or batch == self._transactions.replayed):
            return True
        raise DeliveryError(
            Failure.OLDER_CHECKPOINT, f"Batch {self._progress - 1} is written, and the job is at batch {batch}."
        )

    def _write(self, producer: Producer, request: DeliveryRequest, batches: Iterable[pa.RecordBatch]) -> None:
        transactions = self._transactions
        # 3. Begin, produce.
        producer.begin_transaction()
        reach("after-begin")
        produce(producer, request.topic, batches)
        reach("before-offsets", producer.flush)
        # 4. Progress.
        progress = entry(transactions.progress_topic, request.batch + 1, transactions.claim)
        call_with_timeout(PROGRESS_SECONDS, lambda: producer.send_offsets_to_transaction(progress, self._group))
        reach("after-offsets")
        # 5. Commit.
        producer.commit_transaction()
        reach("after-commit")
        self._progress, self._progress_is_ours = request.batch + 1, True

    def _require_claim(self) -> None:
        newest = newest_claim(self._properties, self._transactions)
        if newest is not None and newest != self._transactions.claim:
            raise fenced_error(self._transactions.prefix)

    def _explain(self, error: KafkaException) -> DeliveryError:
        """A producer is fenced by a later start, or by the broker because a transaction took too long."""
        if not is_fenced(error):
            return refusal_error(error)
        try:
            self._require_claim()
        except KafkaException:
            return refusal_error(error)
        except DeliveryError as fenced:
            return fenced
        seconds = f"{self._transactions.timeout_ms / 1000:g} s"
        return DeliveryError(
            Failure.ENDED_BY_BROKER,
            f"It lasted longer than {seconds}, or the task was run in another place meanwhile, or another job has the "
            f"prefix '{self._transactions.prefix}' for a topic that this user may not describe.",
        )


def _note(transactions: Transactions, writer: str) -> None:
    """Recorded before the id is used: a later start finds it, or has already made a claim."""
    try:
        note_id(Path(transactions.ids), transactions.id_of(writer))
    except OSError as error:
        raise DeliveryError(Failure.REFUSED, f"The checkpoint could not be written to: {error.strerror}.") from error
