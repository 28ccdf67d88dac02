"""Apache Kafka in one local process, for tests and experiments."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from millstream.errors import Code, Diagnostic, SetupError
from millstream.jvm.java import find_java
from millstream.jvm.parts import Part, jars
from millstream.testing.broker_folder import HOST, BrokerFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import IO

    from millstream.testing.broker_security import BrokerSecurity, Listener

_GUARD = Path(__file__).with_name("broker_guard.py")
_SECONDS_TO_START = 90
_SECONDS_TO_STOP = 30
_SECONDS_BETWEEN_LOOKS = 0.05
_PORTS_TRIED = 5
# Only the quick compiler: starts sooner, and took a third less CPU time for two million rows.
_JAVA_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_PORT_TAKEN = "Address already in use"


class EmbeddedBroker:
    """A broker that ends with the process that started it, however that ends.

    With `port` 0 the system chooses one; without `data` the messages are deleted when the broker stops. With `security`
    it has further listeners; `secured_bootstrap` is the address of each.

        with EmbeddedBroker() as broker:
            Producer({"bootstrap.servers": broker.bootstrap})
    """

    def __init__(
        self,
        port: int = 0,
        data: Path | None = None,
        partitions: int = 1,
        notice: Callable[[str], None] | None = None,
        security: BrokerSecurity | None = None,
    ) -> None:
        self._security = security
        self._secured_ports: dict[Listener, int] = {}
        self._wanted_port = port
        self._data = data
        self._partitions = partitions
        self._notice = notice
        self._port = port
        self._folder: BrokerFolder | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> tuple[str, int]:
        return HOST, self._port

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self._port}"

    def secured_bootstrap(self, listener: Listener) -> str:
        return f"{HOST}:{self._secured_ports[listener]}"

    @property
    def is_running(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    def start(self) -> Self:
        """Returns when the broker responds."""
        if self.is_running:
            return self
        java = find_java().executable
        class_path = os.pathsep.join(map(str, jars(Part.BROKER, self._notice)))
        folder = BrokerFolder(self._data.absolute() if self._data else _temporary_folder())
        self._folder = folder
        command = [
            *(str(java), *_JAVA_OPTIONS),
            f"-Dlog4j2.configurationFile={folder.log_settings.relative_to(folder.root)}",
            *("-cp", class_path),
        ]
        try:
            with folder.claim() as lock:
                self._start_on_free_ports(folder, command, lock)
        except OSError as error:
            failure = self.failure(f"the data folder {folder.root} cannot be used: {error.strerror}")
            self.stop()
            raise failure from error
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Returns when the broker has ended; does nothing if it has not been started."""
        guard, folder = self._guard, self._folder
        self._guard = self._folder = None
        if guard is not None:
            _end(guard)
        if folder is not None and self._data is None:
            shutil.rmtree(folder.root, ignore_errors=True)

    def failure(self, primary: str) -> SetupError:
        """An error with the broker's log; must be created before `stop` removes the log."""
        output = self._folder.last_lines() if self._folder else None
        hint = f"All of it is in {self._folder.logs}." if self._folder and self._data and output else None
        return SetupError(Diagnostic(Code.BROKER_NOT_STARTED, primary, detail=output or None, hint=hint))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start_on_free_ports(self, folder: BrokerFolder, java: list[str], lock: IO[bytes]) -> None:
        for _ in range(_PORTS_TRIED):
            listeners = self._security.listeners if self._security else ()
            self._port, controller_port, *others = _free_ports(self._wanted_port, len(listeners))
            self._secured_ports = dict(zip(listeners, others, strict=True))
            folder.write_settings(self._port, controller_port, self._partitions)
            if self._security:
                folder.add_security(self._security, self._port, controller_port, self._secured_ports)
            if not folder.is_formatted:
                self._format(folder, java)
            self._guard = self._launch(folder, java, lock)
            if self._answers_in_time():
                return
            if self.is_running:
                raise self.failure(f"the broker did not answer within {_SECONDS_TO_START} s")
            _end(self._guard)
            if not folder.log_says(_PORT_TAKEN):
                raise self.failure("the broker ended while it started")
        raise self.failure(f"{_PORTS_TRIED} times another process took the port that was free before")

    def _format(self, folder: BrokerFolder, java: list[str]) -> None:
        arguments = ["format", "--cluster-id", _new_cluster_id(), "--config", folder.server_properties.name]
        arguments += self._security.format_arguments if self._security else []
        with folder.console.open("wb") as console:
            formatted = subprocess.run(
                [*java, "kafka.tools.StorageTool", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                cwd=folder.root,
                check=False,
            )
        if formatted.returncode != 0:
            raise self.failure("the data folder could not be formatted for a broker")

    def _launch(self, folder: BrokerFolder, java: list[str], lock: IO[bytes]) -> subprocess.Popen[bytes]:
        temporary = "" if self._data else str(folder.root)
        guard = [sys.executable, "-I", "-S", str(_GUARD), temporary]
        with folder.console.open("wb") as console:
            return subprocess.Popen(
                [*guard, *java, "kafka.Kafka", folder.server_properties.name],
                stdin=subprocess.PIPE,
                stdout=console,
                stderr=console,
                cwd=folder.root,
                pass_fds=(lock.fileno(),),
                start_new_session=True,  # so that Ctrl-C reaches only the owner, which then stops the broker
            )

    def _answers_in_time(self) -> bool:
        give_up = time.monotonic() + _SECONDS_TO_START
        while self.is_running and time.monotonic() < give_up:
            if _accepts_connections(self.address) and _serves_metadata(self.bootstrap):
                return True
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        return False


def _new_cluster_id() -> str:
    """A UUID in Kafka's form, without the hyphen that a command line would take for an option."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "_")


def _temporary_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="millstream-broker-"))


def _free_ports(wanted: int, more: int = 0) -> list[int]:
    """For the broker, its controller and this many further listeners."""
    with ExitStack() as held:
        broker, *others = (held.enter_context(socket.socket()) for _ in range(2 + more))
        broker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            broker.bind((HOST, wanted))
        except OSError as error:
            raise SetupError(
                Diagnostic(
                    Code.BROKER_NOT_STARTED,
                    f"the broker cannot use port {wanted}",
                    detail=f"{error.strerror}.",
                    hint="Stop what uses that port, or choose another; port 0 lets the system choose.",
                )
            ) from error
        for other in others:
            other.bind((HOST, 0))
        return [taken.getsockname()[1] for taken in (broker, *others)]


def _accepts_connections(address: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(address, timeout=1):
            return True
    except OSError:
        return False


def _serves_metadata(bootstrap: str) -> bool:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    silent: dict[str, Any] = {"log_level": 0, "error_cb": lambda _error: None}
    try:
        return bool(AdminClient({"bootstrap.servers": bootstrap, **silent}).list_topics(timeout=5).brokers)
    except KafkaException:
        return False


def _end(guard: subprocess.Popen[bytes]) -> None:
    assert guard.stdin is not None
    guard.stdin.close()
    try:
        guard.wait(_SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()
