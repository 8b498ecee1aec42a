"""An identity provider in a thread: it gives tokens for one client's credentials.

with TokenIssuer() as issuer:
    issuer.url, issuer.asked
"""

import ssl
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import parse_qs

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOK_S: Final = 0.01
"""How often the server looks whether it is to end."""


class Asked(NamedTuple):
    """What a client asked for."""

    path: str
    pair: str
    fields: dict[str, list[str]]


class Answer(NamedTuple):
    """What it is told."""

    status: int = 200
    body: bytes = b'{"access_token": "opaque-1", "token_type": "Bearer", "expires_in": 3600}'
    location: str = ""


class TokenIssuer:
    """The provider.

    Attributes:
        asked: what clients asked for.
        answer: what the next ones are told, unless their secret is wrong.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.answer: Callable[[], Answer] = Answer
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                issuer.respond(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._scheme = "http" if context is None else "https"
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = Thread(target=self._server.serve_forever, args=[_LOOK_S], daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Return the address of the token endpoint."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}/oauth2/token"

    def respond(self, request: BaseHTTPRequestHandler) -> None:
        """Answer a request."""
        body = request.rfile.read(int(request.headers["Content-Length"]))
        kind, _, pair = request.headers["Authorization"].partition(" ")
        assert kind == "Basic"
        asked = Asked(request.path, b64decode(pair).decode(), parse_qs(body.decode()))
        self.asked.append(asked)
        answer = self.answer()
        if asked.pair != "kdiag:s3cret:":
            refusal = {"error": "invalid_client", "error_description": "who is that"}
            answer = Answer(401, msgspec.json.encode(refusal))
        request.send_response(answer.status)
        request.send_header("Content-Length", str(len(answer.body)))
        if answer.location:
            request.send_header("Location", answer.location)
        request.end_headers()
        request.wfile.write(answer.body)
