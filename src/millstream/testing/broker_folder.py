"""The data folder of an embedded broker: its files, and its settings."""

from __future__ import annotations

import fcntl
import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from millstream.errors import Code, Diagnostic, SetupError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from millstream.testing.broker_security import BrokerSecurity, Listener

HOST = "127.0.0.1"
_LINES_SHOWN = 12
_MERE_CIRCUMSTANCE = re.compile(r" (?:INFO|WARN) |^\s+(?:at |\.\.\. \d+ more)|^\t\S+ = |^\s*$")

_SERVER_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=BROKER://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=BROKER://{host}:{port}
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=BROKER
controller.listener.names=CONTROLLER
log.dirs=kafka
num.partitions={partitions}
auto.create.topics.enable=true
# Trial data often carries old timestamps, and must still be there tomorrow.
log.retention.ms=-1
# The default takes a quarter of the small heap.
log.cleaner.dedupe.buffer.size=16777216
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""

_SECURED_LISTENERS = """\
# The last word on a setting holds.
listeners=BROKER://{host}:{port},CONTROLLER://{host}:{controller_port},{addresses}
advertised.listeners=BROKER://{host}:{port},{addresses}
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,{protocols}
{settings}
"""

_LOG_SETTINGS = """\
<Configuration status="ERROR" shutdownHook="disable">
  <Appenders>
    <RollingFile name="file" fileName="logs/broker.log" filePattern="logs/broker.%i.log">
      <PatternLayout pattern="%d %p %c{1}: %m%n"/>
      <SizeBasedTriggeringPolicy size="10 MB"/>
      <DefaultRolloverStrategy max="2"/>
    </RollingFile>
  </Appenders>
  <Loggers>
    <Root level="info"><AppenderRef ref="file"/></Root>
  </Loggers>
</Configuration>
"""


@dataclass(frozen=True, slots=True)
class BrokerFolder:
    """Java runs in it, and uses only relative paths: they need no escapes in the settings."""

    root: Path

    @property
    def messages(self) -> Path:
        return self.root / "kafka"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def log_settings(self) -> Path:
        return self.logs / "log4j2.xml"

    @property
    def server_properties(self) -> Path:
        return self.root / "server.properties"

    @property
    def log(self) -> Path:
        return self.logs / "broker.log"

    @property
    def console(self) -> Path:
        """Output of Java itself, before and in addition to the broker's log."""
        return self.logs / "console.log"

    @property
    def is_formatted(self) -> bool:
        return (self.messages / "meta.properties").exists()

    def claim(self) -> IO[bytes]:
        """A lock on the folder, held as long as any process has the returned file open."""
        self.logs.mkdir(parents=True, exist_ok=True)
        held = (self.root / ".in-use").open("wb")
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            held.close()
            raise SetupError(
                Diagnostic(
                    Code.BROKER_NOT_STARTED,
                    f"another broker is using the data folder {self.root}",
                    hint="Stop that broker, or choose another data folder.",
                )
            ) from error
        return held

    def write_settings(self, port: int, controller_port: int, partitions: int) -> None:
        settings = _SERVER_PROPERTIES.format(
            host=HOST, port=port, controller_port=controller_port, partitions=partitions
        )
        self.server_properties.write_text(settings, encoding="utf-8")
        self.log_settings.write_text(_LOG_SETTINGS, encoding="utf-8")
        self.log.unlink(missing_ok=True)

    def add_security(
        self, security: BrokerSecurity, port: int, controller_port: int, secured_ports: Mapping[Listener, int]
    ) -> None:
        security.copy_stores(self.root)
        settings = _SECURED_LISTENERS.format(
            host=HOST,
            port=port,
            controller_port=controller_port,
            addresses=",".join(f"{listener}://{HOST}:{at}" for listener, at in secured_ports.items()),
            protocols=",".join(f"{listener}:{listener.protocol}" for listener in secured_ports),
            settings="\n".join(security.settings()),
        )
        self.server_properties.chmod(0o600)
        with self.server_properties.open("a", encoding="utf-8") as file:
            file.write(settings)

    def log_says(self, words: str) -> bool:
        return any(words in line for line in _lines(self.log))

    def last_lines(self) -> str:
        """The errors in the log without stack traces; if there are none, the end of the log."""
        logged = _lines(self.console) + _lines(self.log)
        telling = [line for line in logged if not _MERE_CIRCUMSTANCE.search(line)]
        return "\n".join(telling[:_LINES_SHOWN] or logged[-_LINES_SHOWN:])


def _lines(log: Path) -> list[str]:
    try:
        return log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
