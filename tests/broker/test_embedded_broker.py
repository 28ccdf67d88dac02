"""The embedded broker, for real: what survives, which processes end together, and what is refused."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from millstream.errors import Code, SetupError
from millstream.jvm.parts import Part, jars
from millstream.testing import broker as broker_module
from millstream.testing.broker import EmbeddedBroker
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.broker
watches_processes = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

SILENT: dict[str, Any] = {"log_level": 0, "error_cb": lambda _error: None}

OWNER = """
import pathlib, sys, time
from millstream.testing.broker import EmbeddedBroker
data = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
broker = EmbeddedBroker(data=data).start()
print(broker._folder.root, flush=True)
time.sleep(600)
"""

COMMAND = """
import pathlib, sys
from millstream.cli.broker import run_broker
sys.exit(run_broker(0, pathlib.Path(sys.argv[1]), 2))
"""


@pytest.fixture(scope="module", autouse=True)
def downloaded() -> None:
    """Keeps the output of a download out of the output of the broker."""
    jars(Part.BROKER)


@contextmanager
def python(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout.readline().rstrip("\n") or pytest.fail(process.stderr.read())


def processes_in(folder: Path) -> dict[str, int]:
    """Name and id of the processes with this working directory."""
    found = {}
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cwd").readlink() == folder:
                found[(process / "comm").read_text().strip()] = int(process.name)
        except OSError:
            continue
    return found


def wait_until(reached: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def produce(bootstrap: str, topic: str, *values: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, **SILENT})
    for value in values:
        producer.produce(topic, value.encode())
    assert producer.flush(30) == 0


def consume(bootstrap: str, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", **SILENT})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        messages = consumer.consume(count, timeout=PATIENCE)
        assert all(message.error() is None for message in messages)
        return [(message.value() or b"").decode() for message in messages]
    finally:
        consumer.close()


def cluster_id(bootstrap: str) -> str:
    described = AdminClient({"bootstrap.servers": bootstrap, **SILENT}).list_topics(timeout=PATIENCE)
    return str(described.cluster_id)


def test_topics_and_messages_survive_in_a_named_folder(tmp_path: Path) -> None:
    data = tmp_path / "a folder, named äöü"
    with EmbeddedBroker(data=data) as first:
        produce(first.bootstrap, "kept", "one", "two")
        cluster = cluster_id(first.bootstrap)
    assert not first.is_running
    with EmbeddedBroker(data=data) as second:
        assert cluster_id(second.bootstrap) == cluster
        produce(second.bootstrap, "kept", "three")
        assert consume(second.bootstrap, "kept", 3) == ["one", "two", "three"]


@pytest.mark.slow
def test_it_serves_transactions_and_the_partitions_asked_for() -> None:
    with EmbeddedBroker(partitions=3) as broker:
        produce(broker.bootstrap, "auto", "x")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **SILENT})
        assert len(admin.list_topics("auto", timeout=PATIENCE).topics["auto"].partitions) == 3
        (node,) = admin.list_topics(timeout=PATIENCE).brokers.values()
        assert str(node) == f"{broker.bootstrap}/1"

        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "t", **SILENT})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("sink", b"committed", partition=0)
        producer.commit_transaction(30)
        assert consume(broker.bootstrap, "sink", 1) == ["committed"]

        folder = broker._folder
        assert folder is not None
        assert folder.root.exists()
    assert not folder.root.exists()


@watches_processes
@pytest.mark.slow
def test_it_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    with python(OWNER, tmp_path) as owner:
        assert first_line(owner) == str(tmp_path)
        assert "java" in processes_in(tmp_path)
        owner.kill()
    wait_until(lambda: not processes_in(tmp_path))
    with EmbeddedBroker(data=tmp_path) as again:
        assert again.is_running


@watches_processes
def test_a_temporary_folder_is_removed_when_its_owner_is_killed() -> None:
    with python(OWNER) as owner:
        folder = Path(first_line(owner))
        assert (folder / "server.properties").exists()
        owner.kill()
    wait_until(lambda: not folder.exists())
    assert not processes_in(folder)


@watches_processes
def test_it_ends_when_its_guard_is_killed(tmp_path: Path) -> None:
    with EmbeddedBroker(data=tmp_path) as broker:
        assert broker._guard is not None
        broker._guard.kill()
        wait_until(lambda: not broker.is_running)
        wait_until(lambda: not processes_in(tmp_path))


def test_a_second_broker_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with EmbeddedBroker(data=tmp_path) as first:
        with pytest.raises(SetupError) as refused, EmbeddedBroker(data=tmp_path):
            pass
        assert refused.value.code is Code.BROKER_NOT_STARTED
        assert refused.value.diagnostics[0].hint
        produce(first.bootstrap, "still", "here")
        assert consume(first.bootstrap, "still", 1) == ["here"]


def test_a_cluster_id_never_looks_like_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    starts_with_hyphens = uuid.UUID(int=0xFBEFBE << 104)
    monkeypatch.setattr(uuid, "uuid4", lambda: starts_with_hyphens)
    with EmbeddedBroker() as broker:
        assert len(cluster_id(broker.bootstrap)) == 22


def test_a_port_in_use_is_refused(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(SetupError) as refused, EmbeddedBroker(other.getsockname()[1], tmp_path):
            pass
    assert refused.value.code is Code.BROKER_NOT_STARTED
    assert refused.value.diagnostics[0].hint


@pytest.mark.slow
def test_a_port_lost_before_the_broker_had_it_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    really_free = broker_module._free_ports
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        lost = other.getsockname()[1]
        answers = iter([(lost, *really_free(0)[1:])])
        monkeypatch.setattr(broker_module, "_free_ports", lambda wanted, _: next(answers, None) or really_free(wanted))
        with EmbeddedBroker() as broker:
            assert broker.address[1] != lost
            produce(broker.bootstrap, "t", "x")
    assert next(answers, None) is None


def test_a_broker_that_cannot_start_shows_its_log(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "meta.properties").write_text("version=1\nnode.id=77\ncluster.id=x\n")
    with pytest.raises(SetupError) as refused, EmbeddedBroker(data=tmp_path):
        pass
    assert refused.value.code is Code.BROKER_NOT_STARTED
    assert "77" in (refused.value.diagnostics[0].detail or "")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError) as refused, EmbeddedBroker(data=tmp_path / "file" / "data"):
        pass
    assert refused.value.code is Code.BROKER_NOT_STARTED


@watches_processes
@pytest.mark.parametrize("stop", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_the_command_ends_well_on_a_signal(tmp_path: Path, stop: signal.Signals) -> None:
    with python(COMMAND, tmp_path) as command:
        assert first_line(command).startswith("broker ready at localhost:")
        command.send_signal(stop)
        output, errors = command.communicate(timeout=PATIENCE)
    assert (output, errors, command.returncode) == ("broker stopped\n", "", 0)
    assert not processes_in(tmp_path)


@watches_processes
def test_the_command_fails_when_the_broker_dies(tmp_path: Path) -> None:
    with python(COMMAND, tmp_path) as command:
        first_line(command)
        os.kill(processes_in(tmp_path)["java"], signal.SIGKILL)
        output, errors = command.communicate(timeout=PATIENCE)
    assert command.returncode == 1
    assert output == ""
    assert Code.BROKER_NOT_STARTED in errors
