"""The control port: faults added, listed and removed over HTTP, on the loopback interface.

    GET    /faults       {"schema": 1, "faults": [{"id": 1, "fault": "Fetch delay=1s", ...}]}
    POST   /faults       {"fault": "Fetch delay=1s"} or {"fault": {"api": "Fetch", "delay": "1s"}}
    DELETE /faults/1     the fault, as it ended
    DELETE /faults       {"schema": 1, "removed": 1}

    GET    /nodes        {"schema": 1, "nodes": [{"node_id": 1, "state": "running", "leads": 4}]}
    POST   /nodes/2      {"do": "stop"}, "kill" or "start": the broker, as it is then

The brokers are there for a lab, not for a proxy.

Whatever is wrong is `{"schema": 1, "error": "..."}` with a status of 400 or more. Other users of
this machine cannot use it: each request must bring the token, which whoever opens the port hands to
those who may (`Authorization: Bearer TOKEN`). Pages in a browser cannot, either: it wants JSON as
the content type, which they may not send elsewhere, and a Host of this machine.

Each connection has a thread and five seconds for its request and the response, whatever it sends or
reads meanwhile; where 64 are open, the oldest one makes room for a new one.
"""

import hmac
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final, Protocol, Self

import msgspec

from kdiag.clock import NS_PER_S, Clock, SystemClock
from kdiag.errors import ConfigError, ConnectError, KdiagError, Layer
from kdiag.lab.fault.fault_book import FaultBook, fault_document
from kdiag.lab.fault.grammar import fault_of, parse_fault
from kdiag.lab.fault.rule import FaultRule
from kdiag.net.address import host_and_port
from kdiag.net.tcp.sockets import hang_up

LOOPBACK: Final = "127.0.0.1"
FAULTS_PATH: Final = "/faults"
NODES_PATH: Final = "/nodes"
MOST_BODY_BYTES: Final = 64 * 1024
SCHEMA: Final = 1

AUTHORIZATION: Final = "Authorization"
BEARER: Final = "Bearer "

_JSON: Final = "application/json"
_LONGEST_NS: Final = 5 * NS_PER_S
"""How long a connection lasts."""
_MOST_CONNECTIONS: Final = 64
_SWEEP_S: Final = 0.1
_TOKEN_BYTES: Final = 32
_UNAUTHORIZED: Final = (
    "the token is wrong or missing: expected the header Authorization: Bearer TOKEN, with the "
    "token from the file that kdiag named when it opened the control port"
)
_HOSTS: Final = frozenset(("127.0.0.1", "localhost", "[::1]"))


class ControlledNodes(Protocol):
    """Brokers that are stopped and started; see `kdiag.lab.broker.node_switch`."""

    def listed(self) -> list[dict[str, Any]]:
        """Return each broker."""
        ...

    def switch(self, node_id: int, action: str) -> dict[str, Any]:
        """Stop, kill or start a broker, and return it; raise KdiagError if that cannot be."""
        ...


class ControlPort:
    """A port for the faults of a book, while a `with` block lasts; it listens from the beginning.

    Attributes:
        port: where.
        token: what each request must bring; a new one for each port.
    """

    def __init__(
        self, book: FaultBook, port: int = 0, nodes: ControlledNodes | None = None
    ) -> None:
        """Listen.

        Args:
            book: the faults.
            port: 0 for any that is free.
            nodes: brokers that can be stopped; None if there are none.

        Raises:
            ConnectError: if that port cannot be had.
        """
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        given = {"book": book, "nodes": nodes, "token": self.token}
        try:
            self._server = _Server((LOOPBACK, port), type("_BookHandler", (_Handler,), given))
        except (OSError, OverflowError) as error:
            place = host_and_port(LOOPBACK, port)
            why = f"the control port cannot listen there: {error}"
            fix = "Choose another port, or 0 for one that is free"
            raise ConnectError(place, Layer.TCP, why, fix) from None
        self.port: int = self._server.server_address[1]
        self._thread = Thread(
            target=self._server.serve_forever, args=(_SWEEP_S,), name="control-port", daemon=True
        )

    def __enter__(self) -> Self:
        """Answer."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        if self._thread.ident is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __repr__(self) -> str:
        return f"<ControlPort {self.address}>"

    @property
    def address(self) -> str:
        """Return `host:port`."""
        return host_and_port(LOOPBACK, self.port)


class _Server(ThreadingHTTPServer):
    """A thread for each connection, which ends after a time whatever its client does."""

    daemon_threads = True
    request_queue_size = _MOST_CONNECTIONS  # else a burst waits for its SYNs to be sent again
    clock: Clock = SystemClock()

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._opened_ns: dict[Any, int] = {}  # the oldest is the first
        self._lock = Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; the oldest connection ends if there are too many."""
        with self._lock:
            if len(self._opened_ns) >= _MOST_CONNECTIONS:
                self._end(next(iter(self._opened_ns)))
            self._opened_ns[request] = self.clock.monotonic_ns()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that is answered, or has ended."""
        with self._lock:
            self._opened_ns.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End what has lasted too long, several times a second."""
        due_ns = self.clock.monotonic_ns() - _LONGEST_NS
        with self._lock:
            for request in [each for each, at_ns in self._opened_ns.items() if at_ns <= due_ns]:
                self._end(request)

    def server_close(self) -> None:
        """Stop listening, and end every connection."""
        super().server_close()
        with self._lock:
            for request in [*self._opened_ns]:
                self._end(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: a client that hangs up is not an error of the lab."""

    def _end(self, request: Any) -> None:
        """Have the thread of a connection read and write no more; it closes the socket."""
        del self._opened_ns[request]
        hang_up(request)


class _RefusedError(Exception):
    """A request that is wrong."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(status, why)
        self.status = status
        self.why = why


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    book: FaultBook
    nodes: ControlledNodes | None
    token: str
    protocol_version = "HTTP/1.1"
    server_version = "kdiag"
    sys_version = ""

    def do_GET(self) -> None:
        """List the faults, or the brokers."""
        self._answer(lambda: (HTTPStatus.OK, self._listed()))

    def do_POST(self) -> None:
        """Add a fault, or switch a broker."""
        if self._is_of_nodes:
            self._answer(lambda: (HTTPStatus.OK, self._switched()))
        else:
            self._answer(lambda: (HTTPStatus.CREATED, self._added()))

    def do_DELETE(self) -> None:
        """Remove a fault, or all."""
        self._answer(lambda: (HTTPStatus.OK, self._removed()))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the standard library's
        """Say nothing."""

    def _answer(self, make: Any) -> None:
        try:
            self._check()
            status, document = make()
        except _RefusedError as error:
            status, document = error.status, {"error": error.why}
            self.close_connection = True  # a body may still come
        data = msgspec.json.encode({"schema": SCHEMA, **document})
        self.send_response(status)
        self.send_header("Content-Type", _JSON)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True  # the next one has its turn

    def _check(self) -> None:
        host = self.headers.get("Host", "").rpartition(":")[0]
        if host not in _HOSTS:
            raise _RefusedError(HTTPStatus.FORBIDDEN, "the Host is not this machine's")
        given = self.headers.get(AUTHORIZATION, "")
        if not hmac.compare_digest(given.encode(), f"{BEARER}{self.token}".encode()):
            raise _RefusedError(HTTPStatus.UNAUTHORIZED, _UNAUTHORIZED)
        is_of_faults = self.path == FAULTS_PATH or self.path.startswith(f"{FAULTS_PATH}/")
        if not is_of_faults and not self._is_of_nodes:
            raise _RefusedError(HTTPStatus.NOT_FOUND, self._paths_text)

    @property
    def _is_of_nodes(self) -> bool:
        is_path = self.path == NODES_PATH or self.path.startswith(f"{NODES_PATH}/")
        return is_path and self.nodes is not None

    @property
    def _paths_text(self) -> str:
        paths = FAULTS_PATH if self.nodes is None else f"{FAULTS_PATH} and {NODES_PATH}"
        return f"only {paths} can be had here"

    def _listed(self) -> dict[str, Any]:
        if self.path == NODES_PATH and self.nodes is not None:
            return {"nodes": self.nodes.listed()}
        if self.path != FAULTS_PATH:
            raise _RefusedError(HTTPStatus.NOT_FOUND, self._paths_text)
        return {"faults": [fault_document(each) for each in self.book.listed()]}

    def _switched(self) -> dict[str, Any]:
        assert self.nodes is not None
        number = self.path.removeprefix(NODES_PATH).removeprefix("/")
        if not (number.isascii() and number.isdigit() and len(number) < 10):  # noqa: PLR2004 - digits
            raise _RefusedError(HTTPStatus.NOT_FOUND, f"there is no broker {number}")
        body = self._body()
        action = body.get("do") if isinstance(body, dict) else None
        if not isinstance(action, str):
            why = 'expected {"do": "stop"}, {"do": "kill"} or {"do": "start"}'
            raise _RefusedError(HTTPStatus.BAD_REQUEST, why)
        try:
            return self.nodes.switch(int(number), action)
        except KdiagError as error:
            raise _RefusedError(HTTPStatus.CONFLICT, str(error)) from None

    def _added(self) -> dict[str, Any]:
        try:
            return fault_document(self.book.add(_rule_of(self._body())))
        except ConfigError as error:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from None

    def _body(self) -> Any:
        if self.headers.get_content_type() != _JSON:
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"{_JSON} was expected")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 10):  # noqa: PLR2004 - digits
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "Content-Length was expected")
        if int(length) > MOST_BODY_BYTES:
            why = f"at most {MOST_BODY_BYTES} bytes were expected"
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why)
        try:
            return msgspec.json.decode(self.rfile.read(int(length)))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, f"not JSON: {error}") from None

    def _removed(self) -> dict[str, Any]:
        number = self.path.removeprefix(FAULTS_PATH).removeprefix("/")
        if not number:
            return {"removed": self.book.clear()}
        is_number = number.isascii() and number.isdigit() and len(number) < 10  # noqa: PLR2004 - digits
        removed = self.book.remove(int(number)) if is_number else None
        if removed is None:
            raise _RefusedError(HTTPStatus.NOT_FOUND, f"there is no fault {number}")
        return fault_document(removed)


def _rule_of(body: Any) -> FaultRule:
    fault = body.get("fault") if isinstance(body, dict) else None
    if isinstance(fault, str):
        return parse_fault(fault, "fault")
    if isinstance(fault, dict):
        return fault_of(fault, "fault")
    why = 'expected {"fault": "Fetch delay=1s"} or {"fault": {"api": "Fetch", "delay": "1s"}}'
    raise ConfigError("", "fault", why)
