"""The declaration of the JVM parts: ivy.xml says which are needed, jars.sha256 which files they are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

IVY_FILE = Path(__file__).with_name("ivy.xml")
LOCK_FILE = Path(__file__).with_name("jars.sha256")


class Part(StrEnum):
    """A configuration of ivy.xml."""

    SPARK = "spark"
    BROKER = "broker"


@dataclass(frozen=True, slots=True)
class LockedJar:
    part: Part
    name: str
    size: int
    sha256: str

    @classmethod
    def of_file(cls, part: Part, jar: Path) -> LockedJar:
        with jar.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256")
        return cls(part, jar.name, jar.stat().st_size, digest.hexdigest())

    def __str__(self) -> str:
        return f"{self.sha256}  {self.size}  {self.part}/{self.name}"


def read_locked_jars(part: Part) -> tuple[LockedJar, ...]:
    return tuple(jar for jar in map(_parse, _lock_lines()) if jar.part is part)


def declaration_digest() -> str:
    """Changes with either file, so that a cache folder named after it holds exactly what they declare."""
    return hashlib.sha256(IVY_FILE.read_bytes() + LOCK_FILE.read_bytes()).hexdigest()[:16]


def _lock_lines() -> list[str]:
    lines = LOCK_FILE.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _parse(line: str) -> LockedJar:
    sha256, size, path = line.split()
    part, name = path.split("/")
    return LockedJar(Part(part), name, int(size), sha256)
