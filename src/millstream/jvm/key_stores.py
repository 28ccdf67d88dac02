"""Converts Java's key stores to PEM, for clients that read nothing else, by Java's own keytool."""

from __future__ import annotations

import base64
import os
import re
import secrets
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from millstream.jvm.java import find_java

_ENTRY: Final = re.compile(r"^Alias name: (?P<alias>.*)\n(?P<rest>(?:(?!Alias name: ).*\n?)*)", re.MULTILINE)
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)
_OF_A_KEY: Final = "Entry type: PrivateKeyEntry"
_ENCRYPTED_BY: Final = "-J-Dkeystore.pkcs12.keyProtectionAlgorithm=PBEWithSHA1AndDESede"
"""An encryption that both of Kafka's clients read: Java's does not support PBES2, the current standard."""
_ENCRYPTED_KEY: Final = bytes.fromhex("060b2a864886f70d010c0a0102")
"""The object identifier that precedes a private key in PKCS12, as keytool writes it."""
_LONG_LENGTH: Final = 0x80
_SECONDS: Final = 60


class KeyStoreError(Exception):
    """The store cannot be read; the text is keytool's reason."""


@dataclass(frozen=True, slots=True)
class KeyStore:
    """JKS or PKCS12, which the file itself reveals."""

    path: Path
    password: str | None = field(repr=False)
    key_password: str | None = field(default=None, repr=False)
    """If it differs from that of the store."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """In PEM: a private key, its encryption password, and its certificate chain."""

    key: str = field(repr=False)
    password: str = field(repr=False)
    chain: str


def certificates_in(store: KeyStore) -> str:
    """All of them, in PEM."""
    found = "".join(chain for _, chain in _entries(store, _version(store.path)))
    if not found:
        reason = "no certificates were found in it"
        raise KeyStoreError(reason if store.password else f"{reason}, and no password was given")
    return found


def key_pair_in(store: KeyStore) -> KeyPair:
    return _key_pair(store, _version(store.path))


def _version(path: Path) -> int:
    """The version of the file, so that a renewed store is read again."""
    try:
        return path.stat().st_mtime_ns
    except OSError as error:
        raise KeyStoreError(str(error.strerror)) from None


@lru_cache
def _entries(store: KeyStore, _version: int) -> tuple[tuple[str | None, str], ...]:
    """The certificates of each entry, with its alias if it has a private key too."""
    password = ("-storepass:env", "STORE") if store.password else ()
    listed = _keytool({"STORE": store.password or ""}, "-list", "-rfc", "-keystore", store.path, *password)
    return tuple(
        (entry["alias"] if _OF_A_KEY in entry["rest"] else None, "".join(_CERTIFICATE.findall(entry["rest"])))
        for entry in _ENTRY.finditer(listed)
    )


@lru_cache
def _key_pair(store: KeyStore, version: int) -> KeyPair:
    found = next(((alias, chain) for alias, chain in _entries(store, version) if alias is not None), None)
    if found is None:
        raise KeyStoreError("no private key was found in it")
    password = secrets.token_hex()
    passwords = {"STORE": store.password or "", "KEY": store.key_password or store.password or "", "COPY": password}
    with tempfile.TemporaryDirectory(prefix="millstream-keys-") as private:
        copy = Path(private) / "keys.p12"
        _keytool(
            passwords,
            *(_ENCRYPTED_BY, "-importkeystore", "-noprompt", "-srckeystore", store.path, "-srcstorepass:env", "STORE"),
            *("-srcalias", found[0], "-srckeypass:env", "KEY", "-destkeypass:env", "COPY"),
            *("-destkeystore", copy, "-deststoretype", "PKCS12", "-deststorepass:env", "COPY"),
        )
        return KeyPair(_encrypted_key(copy.read_bytes()), password, found[1])


def _encrypted_key(pkcs12: bytes) -> str:
    """The identifier is followed by the key in one wrapping, both as DER elements."""
    start, _ = _content(pkcs12, pkcs12.index(_ENCRYPTED_KEY) + len(_ENCRYPTED_KEY))
    _, end = _content(pkcs12, start)
    body = "\n".join(textwrap.wrap(base64.b64encode(pkcs12[start:end]).decode(), 64))
    return f"-----BEGIN ENCRYPTED PRIVATE KEY-----\n{body}\n-----END ENCRYPTED PRIVATE KEY-----\n"


def _content(der: bytes, at: int) -> tuple[int, int]:
    """The range of the content of the element at a position."""
    length, start = der[at + 1], at + 2
    if length >= _LONG_LENGTH:
        size = length - _LONG_LENGTH
        length, start = int.from_bytes(der[start : start + size]), start + size
    return start, start + length


def _keytool(passwords: dict[str, str], *arguments: str | Path) -> str:
    """Passwords are passed in the environment: other users can read command lines, but not that."""
    ended = subprocess.run(
        [_tool(), "-J-Duser.language=en", "-J-XX:TieredStopAtLevel=1", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, **passwords},
        timeout=_SECONDS,
        check=False,
    )
    if ended.returncode != 0:
        raise KeyStoreError(_reason(ended.stdout) or f"keytool ended with {ended.returncode}")
    return ended.stdout


@lru_cache
def _tool() -> Path:
    return find_java().executable.with_name("keytool")


def _reason(output: str) -> str:
    lines = [line.removeprefix("keytool error: ") for line in output.splitlines() if line.startswith("keytool error: ")]
    return re.sub(r"^(?:\w+\.)+\w+: ", "", lines[0]) if lines else ""
