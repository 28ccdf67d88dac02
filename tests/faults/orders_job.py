"""An exactly-once job with state that can be held or frozen at a chosen step, and its expected output."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, Self

from millstream.failpoints import VARIABLE
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.faults.failing_broker import PARTITIONS
from tests.faults.processes import jvm_of, processes, run_in_background
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

SCRIPT: Final = """
SET 'millstream.batch.max-rows' = '100';
SET 'parallelism.default' = '2';
CREATE TABLE orders (customer INT, amount INT) WITH (
  'connector' = 'kafka', 'topic' = '${orders}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE totals (customer INT, orders BIGINT, amount BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '${totals}', 'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json', 'value.format' = 'json', 'properties.transaction.timeout.ms' = '${timeout}',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '${totals}');
INSERT INTO totals SELECT customer, COUNT(*), SUM(amount) FROM orders GROUP BY customer;
"""
CUSTOMERS: Final = 120
"""More than a batch takes: no customer occurs twice in a batch, so the messages do not depend on batch boundaries."""
_LOOK_SECONDS: Final = 0.05


class OrdersJob:
    """A job with its own topics, run by processes one after another or at the same time."""

    def __init__(self, brokers: str, folder: Path, *, timeout_ms: int = 60_000, source: str | None = None) -> None:
        """`source` are options of the table that is read."""
        self.brokers = brokers
        self._kafka = ScriptKafka(brokers)
        self._folder = folder
        self._parameters = {
            "brokers": brokers,
            "orders": fresh_name("orders"),
            "totals": fresh_name("totals"),
            "timeout": str(timeout_ms),
        }
        for topic in ("orders", "totals"):
            self._kafka.create_topic(self._parameters[topic], PARTITIONS)
        self._rounds = 0
        self.notices = (folder / "notices").open("w+")
        self.gate = folder / "gate"
        self._script = folder / "totals.sql"
        self._script.write_text(SCRIPT.replace("'format'", f"{source},\n  'format'", 1) if source else SCRIPT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.notices.close()

    @property
    def orders_topic(self) -> str:
        return self._parameters["orders"]

    @property
    def orders(self) -> int:
        """The number of orders."""
        return self._rounds * CUSTOMERS

    def order(self, rounds: int) -> None:
        """Each round has one order of every customer."""
        for _ in range(rounds):
            for partition in range(PARTITIONS):
                rows = ({"customer": each, "amount": each} for each in range(partition, CUSTOMERS, PARTITIONS))
                messages = [Message(None, json.dumps(row).encode()) for row in rows]
                self._kafka.produce(self.orders_topic, messages, partition)
        self._rounds += rounds

    @contextmanager
    def run(
        self, *options: str, hold: str | None = None, checkpoint: Path | None = None
    ) -> Iterator[subprocess.Popen[str]]:
        """With `hold`, it waits at that failpoint until `let_go`."""
        if hold is not None:
            self.gate.touch()
        environment = {VARIABLE: f"{hold}:hold={self.gate}"} if hold else {}
        arguments = (*options, *(("--checkpoint", str(checkpoint)) if checkpoint else ()))
        with run_in_background(
            self._script, self._parameters, self.notices, *arguments, environment=environment
        ) as process:
            yield process

    @property
    def checkpoint(self) -> Path:
        return self._folder / ".millstream" / "totals"

    def await_hold(self, process: subprocess.Popen[str]) -> None:
        reached = self.gate.with_name(f"{self.gate.name}.reached")
        while not reached.exists():
            assert process.poll() is None, self.read_notices()
            time.sleep(_LOOK_SECONDS)

    def let_go(self) -> None:
        self.gate.unlink()

    def read_notices(self) -> str:
        self.notices.seek(0)
        return self.notices.read()

    def read_totals(self) -> Counter[tuple[int, int, int]]:
        """As seen by readers of committed messages."""
        received = self._kafka.read(self._parameters["totals"])
        values = (json.loads(each.message.value) for each in received if each.message.value is not None)
        return Counter((row["customer"], row["orders"], row["amount"]) for row in values)

    @property
    def expected(self) -> Counter[tuple[int, int, int]]:
        """What an undisturbed run writes."""
        return Counter(
            (customer, orders, customer * orders)
            for customer in range(CUSTOMERS)
            for orders in range(1, self._rounds + 1)
        )


def family(process: subprocess.Popen[str]) -> list[int]:
    """The process, Spark's JVM, and everything that the JVM started."""
    found = processes()
    jvm = jvm_of(process.pid, found)
    return [process.pid, *(each.pid for each in found if jvm is not None and each.session == jvm)]


@contextmanager
def frozen(process: subprocess.Popen[str]) -> Iterator[Callable[[], None]]:
    """Like a suspended machine: no process of the job runs, and none ends. Yields a function that resumes it."""
    stopped = family(process)

    def wake() -> None:
        for pid in reversed(stopped):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield wake
    finally:
        wake()


def drain(process: subprocess.Popen[str]) -> int:
    """The exit code, after reading the rest of its output."""
    assert process.stdout is not None
    process.stdout.read()
    return process.wait(PATIENCE)
