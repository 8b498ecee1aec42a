import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from kdiag.clock import NS_PER_MS, ManualClock
from kdiag.errors import KdiagError
from kdiag.net.channel import Disconnection
from kdiag.net.memory_pool import SimpleMemoryPool
from kdiag.net.receive import NetworkReceive
from kdiag.net.selector.selector import SelectorSettings
from kdiag.net.server.file_send import FileRegion
from kdiag.net.server.processor import Processor, ServerRequest, plaintext_channels
from kdiag.net.tcp.loopback_pair import loopback_pair

DEADLINE_S = 60


class Handler:
    """Keeps what it is given; the test answers.

    Attributes:
        requests: all of them.
        ended: the connections that ended.
        failure: raised by the next request.
        due_ns: when it wants to be called.
        advances: how often it was.
    """

    def __init__(self) -> None:
        self.requests: list[ServerRequest] = []
        self.ended: dict[str, Disconnection] = {}
        self.failure: Exception | None = None
        self.due_ns: int | None = None
        self.advances = 0

    def handle(self, request: ServerRequest) -> None:
        """Keep it."""
        self.requests.append(request)
        if self.failure is not None:
            raise self.failure

    def handle_disconnect(self, channel_id: str, ended: Disconnection) -> None:
        """Keep it."""
        self.ended[channel_id] = ended

    def advance(self) -> int | None:
        """Return when to be called."""
        self.advances += 1
        return self.due_ns


class Server:
    """A processor, its clock, its handler, and clients that speak to it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.handler = Handler()
        self.pool = SimpleMemoryPool(1_000, 500)
        settings = SelectorSettings(max_receive_bytes=500, pool=self.pool)

        self.processor = Processor(
            self.clock, self.handler, make_channel=plaintext_channels(self.clock), settings=settings
        )
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.clients: list[socket.socket] = []

    def connect(self) -> socket.socket:
        """Return a client's end of a new connection."""
        client = socket.create_connection(self.listener.getsockname(), DEADLINE_S)
        self.clients.append(client)
        self.processor.accept(self.listener.accept()[0])
        self.turn()
        return client

    def turn(self, count: int = 3) -> None:
        """Process some rounds without waiting."""
        for _ in range(count):
            self.processor.process_once(NS_PER_MS)

    def payloads(self) -> list[bytes]:
        """Return the requests so far."""
        return [request.receive.payload for request in self.handler.requests]

    def until_requests(self, count: int) -> list[bytes]:
        """Process until there were so many requests, and return them."""
        for _ in range(1_000):
            if len(self.handler.requests) >= count:
                break
            self.turn(1)
        return self.payloads()


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server, and close it."""
    made = Server()
    yield made
    made.processor.close()
    made.listener.close()
    for client in made.clients:
        client.close()


def send(client: socket.socket, *frames: bytes) -> None:
    """Send frames at once."""
    client.sendall(b"".join(struct.pack(">i", len(frame)) + frame for frame in frames))


def frame_of(client: socket.socket) -> bytes:
    """Return the next frame."""
    with client.makefile("rb") as file:
        (size,) = struct.unpack(">i", file.read(4))
        return file.read(size)


def test_a_connection_has_one_request_under_way(server: Server) -> None:
    """The next one is read when the response is written, though it has come long before."""
    client = server.connect()
    send(client, b"one", b"two")
    assert server.until_requests(1) == [b"one"]
    server.turn()
    assert server.payloads() == [b"one"]
    server.processor.respond("1", [b"answer ", b"one"])
    assert server.until_requests(2) == [b"one", b"two"]
    assert frame_of(client) == b"answer one"


def test_connections_do_not_wait_for_each_other(server: Server) -> None:
    """A request that is answered late holds up its own connection only."""
    slow, fast = server.connect(), server.connect()
    send(slow, b"slow")
    server.until_requests(1)
    send(fast, b"fast")
    server.until_requests(2)
    server.processor.respond("2", [b"first"])
    server.turn()
    assert frame_of(fast) == b"first"
    server.processor.respond("1", [b"second"])
    server.turn()
    assert frame_of(slow) == b"second"


def test_a_request_that_expects_no_response_is_followed_by_the_next(server: Server) -> None:
    """As a produce with acks=0."""
    client = server.connect()
    send(client, b"quiet", b"next")
    server.until_requests(1)
    server.processor.respond("1", None)
    assert server.until_requests(2) == [b"quiet", b"next"]


def test_a_throttled_client_is_answered_at_once_and_read_later(server: Server) -> None:
    """Its next request is read when its time is up (KIP-219)."""
    client = server.connect()
    send(client, b"one", b"two")
    server.until_requests(1)
    server.processor.respond("1", [b"slow down"], throttle_ns=5 * NS_PER_MS)
    server.turn()
    assert frame_of(client) == b"slow down"
    server.clock.advance(5 * NS_PER_MS - 1)
    server.turn()
    assert server.payloads() == [b"one"]
    server.clock.advance(1)
    assert server.until_requests(2) == [b"one", b"two"]


def test_parts_of_files_are_sent(server: Server, tmp_path: Path) -> None:
    """By the transport, between the bytes around them."""
    path = tmp_path / "log"
    path.write_bytes(b"r" * 20_000)
    client = server.connect()
    send(client, b"fetch")
    server.until_requests(1)
    with path.open("rb") as file:
        region = FileRegion(file, file.fileno(), 0, 20_000)
        server.processor.respond("1", [b"head", region, b"end"])
        server.turn()
        assert frame_of(client) == b"head" + b"r" * 20_000 + b"end"


def test_memory_is_given_back_when_a_request_is_answered(server: Server) -> None:
    """Or when its connection is gone."""
    client, other = server.connect(), server.connect()
    send(client, b"x" * 400)
    server.until_requests(1)
    send(other, b"y" * 400)
    server.until_requests(2)
    assert server.pool.available_bytes == 200
    server.processor.respond("1", [b"done"])
    server.turn()
    assert server.pool.available_bytes == 600
    server.processor.end("2")
    server.turn()
    assert server.pool.available_bytes == 1_000


def test_a_handler_that_fails_loses_its_connection_only(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Its client is hung up on, and one line with the cause is in the log."""
    client, other = server.connect(), server.connect()
    server.handler.failure = KeyError("what")
    send(client, b"bad")
    server.until_requests(1)
    server.handler.failure = None
    server.turn()
    assert client.recv(1) == b""
    send(other, b"good")
    assert server.until_requests(2) == [b"bad", b"good"]
    assert "could not be handled" in caplog.text


def test_what_is_no_frame_ends_the_connection(server: Server) -> None:
    """A length beyond the limit, as garbage has nearly always; the handler hears why."""
    client = server.connect()
    client.sendall(b"GET / HTTP/1.1\r\n\r\n")
    for _ in range(1_000):
        server.turn(1)
        if server.handler.ended:
            break
    assert client.recv(1) == b""
    error = server.handler.ended["1"].error
    assert isinstance(error, KdiagError)
    assert "a web client asked" in str(error)


def test_a_client_that_is_gone_gets_no_response(server: Server) -> None:
    """The response of its request is dropped."""
    client = server.connect()
    send(client, b"one")
    server.until_requests(1)
    server.processor.end("1")
    server.processor.respond("1", [b"late"])
    server.turn()
    server.processor.respond("1", [b"later"])
    server.turn()
    assert client.recv(1) == b""
    assert repr(server.processor) == "<Processor of 0 connections>"


def test_a_client_that_hangs_up_is_forgotten(server: Server) -> None:
    """The handler hears of it."""
    client = server.connect()
    client.close()
    for _ in range(1_000):
        server.turn(1)
        if server.handler.ended:
            break
    assert "1" in server.handler.ended


def test_what_is_due_is_done_and_a_failure_of_it_is_survived(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """The handler is called in every round."""
    server.handler.due_ns = 0
    server.processor.process_once()
    assert server.handler.advances == 1

    def fail() -> int | None:
        raise KeyError("due")

    server.handler.advance = fail  # type: ignore[method-assign]
    server.processor.process_once(0)
    assert "what was due could not be done" in caplog.text


def test_other_threads_end_its_wait() -> None:
    """With a call, a response, a connection, and to stop it."""
    server = Server()
    called = Event()
    thread = Thread(target=server.processor.run)
    thread.start()
    server.processor.call(called.set)
    assert called.wait(DEADLINE_S)
    server.processor.stop()
    thread.join(DEADLINE_S)
    server.listener.close()
    assert not thread.is_alive()


class Receiver(Handler):
    """Keeps requests, and is done with each at once.

    Attributes:
        answer: what it answers with; None if the clients expect nothing.
    """

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.answer: list[bytes] | None = None
        self._server = server

    def handle(self, request: ServerRequest) -> None:
        """Keep it, and have the next one read."""
        super().handle(request)
        self._server.processor.respond(request.channel_id, self.answer)


@pytest.fixture
def receiver(server: Server, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    """Return the handler of a server whose clients expect no responses."""
    receiver = Receiver(server)
    monkeypatch.setattr(server.processor, "_handler", receiver)
    return receiver


@pytest.mark.parametrize(("answer", "count"), [(None, 50), ([b"answer"], 20)])
def test_who_waits_for_all_that_has_arrived_misses_nothing(
    server: Server, receiver: Receiver, answer: list[bytes] | None, count: int
) -> None:
    """Neither what takes many rounds nor that a client has hung up."""
    receiver.answer = answer
    client = server.connect()
    send(client, *[b"request"] * count)
    client.shutdown(socket.SHUT_WR)
    thread = Thread(target=server.processor.run)
    thread.start()
    is_quiet = server.processor.await_quiet(DEADLINE_S)
    seen = len(receiver.requests), [*receiver.ended]
    server.processor.stop()
    thread.join(DEADLINE_S)

    assert (is_quiet, seen) == (True, (count, ["1"]))
    assert server.processor.await_quiet(DEADLINE_S)


def test_who_waits_for_all_that_has_arrived_does_not_wait_for_ever(
    server: Server, receiver: Receiver
) -> None:
    """Where a client never pauses."""
    client = server.connect()
    told: list[bool] = []
    thread = Thread(target=lambda: told.append(server.processor.await_quiet(DEADLINE_S)))
    thread.start()
    while thread.is_alive():
        send(client, b"one", b"more")
        server.turn(1)

    assert told == [True]
    assert len(receiver.requests) >= 100


def test_a_connection_that_comes_after_the_end_is_closed(server: Server) -> None:
    """Rather than kept for ever: who has connected hears of it."""
    server.processor.close()
    client = socket.create_connection(server.listener.getsockname(), DEADLINE_S)
    server.clients.append(client)
    server.processor.accept(server.listener.accept()[0], is_internal=True)
    assert client.recv(1) == b""


class Owner:
    """Sends requests over a connection.

    Attributes:
        responses: that have come.
        ended: the connections that have ended.
    """

    def __init__(self) -> None:
        self.responses: list[bytes] = []
        self.ended: list[str] = []

    def handle_response(self, receive: NetworkReceive) -> None:
        """Keep it; the second is one too many."""
        self.responses.append(receive.payload)
        if len(self.responses) == 2:
            raise ValueError("a second one")

    def handle_connection_end(self, channel_id: str) -> None:
        """Keep it."""
        self.ended.append(channel_id)


def test_a_server_may_be_the_client_of_another(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """In the same thread; what its owner cannot handle is said, and ends nothing."""
    ours, theirs = loopback_pair()
    owner = Owner()
    server.processor.add_client("internal-1", ours, owner)
    server.clients.append(theirs)
    server.processor.send("internal-1", [b"a ", b"request"])
    server.turn()
    theirs.settimeout(DEADLINE_S)
    assert frame_of(theirs) == b"a request"
    for _ in range(2):
        send(theirs, b"response")
        server.turn()
    assert owner.responses == [b"response"] * 2
    assert "could not be handled" in caplog.text
    assert server.payloads() == []
    theirs.close()
    server.turn()
    assert owner.ended == ["internal-1"]
    server.processor.remove_client("internal-1")
