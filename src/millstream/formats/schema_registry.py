"""A client of a Confluent schema registry: finds the schema of an id, and the id of a schema."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final

from millstream.formats.confluent_format import BasicAuthSource
from millstream.formats.one_by_one import UnavailableError

if TYPE_CHECKING:
    from millstream.formats.confluent_format import RegistryOptions

_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_SECONDS: Final = 30


class RegistryError(UnavailableError):
    """The registry does not have a schema, rejects one, or cannot be reached."""


class NoSchemaError(RegistryError):
    """The registry responds, and has no such schema: the request is wrong."""


class SchemaRegistry:
    """Caches all responses: schemas and their ids never change."""

    def __init__(self, options: RegistryOptions) -> None:
        self._urls, credentials = _addresses(options.url)
        self._headers = {"Accept": _CONTENT_TYPE, "Content-Type": _CONTENT_TYPE}
        if (authorization := _authorization(options, credentials)) is not None:
            self._headers["Authorization"] = authorization
        self._tls = _tls(options) if any(url.startswith("https:") for url in self._urls) else None
        self._schemas: dict[int, Any] = {}
        self._ids: dict[tuple[str, str], int] = {}

    def schema_of(self, number: int) -> Any:
        if number not in self._schemas:
            try:
                answer = self._ask("GET", f"/schemas/ids/{number}")
            except RegistryError as error:
                raise type(error)(f"Could not find schema with id {number} in registry. {error}") from None
            self._schemas[number] = _parse(answer)
        return self._schemas[number]

    def register(self, subject: str, schema: Any) -> int:
        text = json.dumps(schema, separators=(",", ":"))
        if (subject, text) not in self._ids:
            path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions"
            try:
                answer = self._ask("POST", path, {"schema": text})
            except RegistryError as error:
                raise RegistryError(f"Could not register schema in registry. {error}") from None
            self._ids[subject, text] = int(answer["id"])
        return self._ids[subject, text]

    def _ask(self, method: str, path: str, body: dict[str, str] | None = None) -> dict[str, Any]:
        """The first response from one of the addresses."""
        unreachable = ""
        data = None if body is None else json.dumps(body).encode()
        for url in self._urls:
            request = urllib.request.Request(url + path, data, self._headers, method=method)  # noqa: S310
            try:
                with urllib.request.urlopen(request, timeout=_SECONDS, context=self._tls) as response:  # noqa: S310
                    answer = json.load(response)
                    if not isinstance(answer, dict):
                        raise ValueError("the answer is not a JSON object")  # noqa: TRY004, TRY301
                    return answer
            except urllib.error.HTTPError as error:
                kind = NoSchemaError if error.code == HTTPStatus.NOT_FOUND else RegistryError
                raise kind(_read_message(error)) from None
            except (OSError, ValueError, HTTPException) as error:
                unreachable = f"{url}: {getattr(error, 'reason', error)}"
        raise RegistryError(f"No answer from {unreachable}")


def _parse(answer: dict[str, Any]) -> Any:
    """Raises ValueError for a schema that is not Avro."""
    if not isinstance(text := answer.get("schema"), str):
        raise RegistryError(f"The registry answered without a schema: {json.dumps(answer)[:200]}")
    return json.loads(text)


def _read_message(error: urllib.error.HTTPError) -> str:
    try:
        message = json.load(error).get("message", "")
    except (ValueError, AttributeError):
        message = ""
    return f"The registry answered {error.code}: {message or error.reason}"


def _addresses(text: str) -> tuple[list[str], str | None]:
    """Several addresses are separated by commas, and may contain user and password."""
    urls: list[str] = []
    credentials = None
    for url in (part.strip().rstrip("/") for part in text.split(",") if part.strip()):
        parts = urllib.parse.urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        if at:
            credentials = urllib.parse.unquote(user)
        urls.append(urllib.parse.urlunsplit(parts._replace(netloc=host)))
    return urls, credentials


def _authorization(options: RegistryOptions, of_url: str | None) -> str | None:
    if options.bearer_auth_token is not None:
        return f"Bearer {options.bearer_auth_token}"
    user = of_url if options.basic_auth_source is BasicAuthSource.URL else options.basic_auth_user or of_url
    return None if user is None else f"Basic {base64.b64encode(user.encode()).decode()}"


def _tls(options: RegistryOptions) -> ssl.SSLContext:
    """Certificates are read from PEM files."""
    try:
        context = ssl.create_default_context(cafile=options.truststore_location)
        if options.keystore_location is not None:
            context.load_cert_chain(options.keystore_location, password=options.keystore_password)
    except (OSError, ssl.SSLError) as error:
        raise RegistryError(f"The certificates cannot be read as PEM files: {error}") from None
    return context
