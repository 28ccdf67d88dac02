"""A job whose checkpoint is kept: NAME.toml tells what it reads and must come to, NAME.tar.gz is what it left.

The script has its topics as parameters, by the names in `topics`. What is in `first` was read when the checkpoint was
made, what is in `begun` belongs to a batch that did not end, what is in `second` is read by the job that goes on.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from millstream.testing.script_messages import Message, parse_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.testing.script_kafka import ScriptKafka

FOLDER: Final = Path(__file__).parent.parent / "fixtures" / "checkpoints"
CHECKPOINT: Final = "checkpoint"
"""The folder in the archive."""
KAFKA: Final = "kafka.json"
"""What Kafka held, in the archive: the messages of all topics, and the progress of those who write exactly once."""
WORK_FOLDER: Final = "/work-folder"
"""Represents, in kept files, the folder from which a job reads its files."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change to the script, with a text that the refusal must contain."""

    edits: tuple[tuple[str, str], ...]
    says: str

    def apply(self, script: str) -> str:
        for before, after in self.edits:
            assert before in script, f"there is no {before} to change"
            script = script.replace(before, after)
        return script


@dataclass(frozen=True)
class KeptJob:
    file: Path

    @property
    def name(self) -> str:
        return self.file.stem

    @property
    def id(self) -> str:
        return f"{self.file.parent.name}-{self.name}"

    @property
    def archive(self) -> Path:
        return self.file.with_suffix(".tar.gz")

    @cached_property
    def declaration(self) -> dict[str, Any]:
        return tomllib.loads(self.file.read_text())

    @property
    def script(self) -> str:
        return str(self.declaration["script"])

    @property
    def failpoint(self) -> str | None:
        """The failpoint that ends the batch with the input in `begun`."""
        return self.declaration.get("failpoint")

    @property
    def refusal(self) -> str | None:
        """The refusal, if only the version that made the checkpoint can resume from it."""
        return self.declaration.get("refused_by_later_versions")

    @property
    def topics(self) -> Mapping[str, int]:
        """Their partitions, by the name in Kafka."""
        return {self.topic(name): count for name, count in self.declaration["topics"].items()}

    def topic(self, name: str) -> str:
        return f"kept-{self.name}-{name}"

    def parameters(self, brokers: str) -> dict[str, str]:
        return {"brokers": brokers, **{name: self.topic(name) for name in self.declaration["topics"]}}

    def changes(self, outcome: str) -> list[Change]:
        return [
            Change(tuple(map(tuple, filter(None, (each["change"], each.get("also"))))), each.get("says", ""))
            for each in self.declaration.get(outcome, ())
        ]

    def feed(self, part: str, kafka: ScriptKafka, folder: Path) -> None:
        """Produces the messages of one part to their partitions, and writes its files to `folder`."""
        for name, partitions in self.declaration.get(part, {}).items():
            for partition, lines in partitions.items():
                kafka.produce(self.topic(name), messages(lines), int(partition))
        self.write_files(part, folder)

    def write_files(self, part: str, folder: Path) -> None:
        for path, lines in self.declaration.get(f"{part}_files", {}).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(lines)

    def expected_messages(self, form: str) -> dict[str, list[Message]]:
        """By topic: the folded `table`, or its `messages` in any order."""
        declared = self.declaration["expected"].get(form, {})
        return {self.topic(name): messages(lines) for name, lines in declared.items()}


def messages(lines: str) -> list[Message]:
    return [parse_message(line) for line in lines.splitlines() if line]


def kept_jobs() -> list[KeptJob]:
    return [KeptJob(file) for file in sorted(FOLDER.glob("*/*.toml"))]
