"""A schema registry for tests: a real HTTP server that keeps schemas in memory."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import unquote

if TYPE_CHECKING:
    from types import TracebackType

_NO_SCHEMA: Final = (404, {"error_code": 40403, "message": "Schema not found"})
_NO_SUBJECT: Final = (404, {"error_code": 40401, "message": "Subject not found."})
_UNAUTHORIZED: Final = (401, {"error_code": 40101, "message": "User cannot access the resource."})
_INVALID: Final = (422, {"error_code": 42201, "message": "Input schema is an invalid Avro schema"})


class EmbeddedSchemaRegistry:
    """Speaks the part of the REST interface that clients use.

    >>> with EmbeddedSchemaRegistry() as registry:
    ...     registry.url
    'http://127.0.0.1:…'

    `authorization` is the header that every request must have, if any.
    """

    def __init__(self, authorization: str | None = None) -> None:
        self.schemas: list[str] = []
        """The number of a schema is its place, counted from one."""
        self.subjects: dict[str, list[int]] = {}
        self.requests: list[str] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, authorization))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        with self._lock:
            self.requests.append(f"{method} {path}")
            match method, parts:
                case "GET", ["schemas", "ids", number]:
                    return self._schema(number)
                case "GET", ["subjects"]:
                    return 200, list(self.subjects)
                case "GET", ["subjects", subject, "versions", version]:
                    return self._version(subject, version)
                case "POST", ["subjects", subject, "versions"]:
                    return self._register(subject, body["schema"])
                case _:
                    return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _schema(self, number: str) -> tuple[int, Any]:
        if not number.isdigit() or not 1 <= int(number) <= len(self.schemas):
            return _NO_SCHEMA
        return 200, {"schema": self.schemas[int(number) - 1]}

    def _version(self, subject: str, version: str) -> tuple[int, Any]:
        numbers = self.subjects.get(subject)
        if numbers is None:
            return _NO_SUBJECT
        place = len(numbers) if version == "latest" else int(version)
        number = numbers[place - 1]
        return 200, {"subject": subject, "version": place, "id": number, "schema": self.schemas[number - 1]}

    def _register(self, subject: str, schema: str) -> tuple[int, Any]:
        try:
            text = json.dumps(json.loads(schema))
        except ValueError:
            return _INVALID
        if text not in self.schemas:
            self.schemas.append(text)
        number = self.schemas.index(text) + 1
        numbers = self.subjects.setdefault(subject, [])
        if number not in numbers:
            numbers.append(number)
        return 200, {"id": number}


def _handler(registry: EmbeddedSchemaRegistry, authorization: str | None) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply()

        def do_POST(self) -> None:
            self._reply()

        def _reply(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if authorization is not None and self.headers.get("Authorization") != authorization:
                status, answer = _UNAUTHORIZED
            else:
                status, answer = registry.answer(self.command, self.path, json.loads(data) if data else None)
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tests say what they see themselves."""

    return Handler
