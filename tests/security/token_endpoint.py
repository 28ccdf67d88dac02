"""Issues tokens like an identity provider. They are not signed, which the embedded broker accepts."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


class TokenEndpoint:
    def __init__(self, client: str, secret: str) -> None:
        self.scopes: list[str] = []
        known = base64.b64encode(f"{client}:{secret}".encode()).decode()
        endpoint = self

        class Answers(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                if self.headers["Authorization"] != f"Basic {known}":
                    self._answer(401, {"error": "invalid_client"})
                    return
                endpoint.scopes += form.get("scope", [])
                self._answer(200, {"access_token": _token(client), "expires_in": 3600, "token_type": "Bearer"})

            def _answer(self, status: int, body: dict[str, object]) -> None:
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/token"

    def login(self, client: str, secret: str) -> dict[str, str]:
        return {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": self.url,
            "sasl.login.callback.handler.class": HANDLER,
            "sasl.jaas.config": f'{MODULE} required clientId="{client}" clientSecret="{secret}" scope="kafka";',
        }

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _token(subject: str) -> str:
    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + 3600, "scope": "kafka"})
    written = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{'.'.join(written)}."
