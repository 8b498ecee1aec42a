import errno
import logging
import socket
from threading import Event

import pytest

from kdiag.errors import ConnectError
from kdiag.net.server.listener import ServerListener

DEADLINE_S = 60


def test_connections_are_handed_over() -> None:
    """Each as it is accepted; the port is the one that was free."""
    accepted: list[socket.socket] = []
    is_there = Event()

    def handle(sock: socket.socket) -> None:
        accepted.append(sock)
        is_there.set()

    with (
        ServerListener("127.0.0.1", 0, handle) as listener,
        socket.create_connection(("127.0.0.1", listener.port)) as client,
    ):
        assert is_there.wait(DEADLINE_S)
        assert accepted[0].getpeername() == client.getsockname()
        assert repr(listener) == f"<ServerListener 127.0.0.1:{listener.port}>"
    accepted[0].close()
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", listener.port))


def test_a_port_in_use_is_said() -> None:
    """With what to do about it."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConnectError, match="Address already in use") as caught:
            ServerListener("127.0.0.1", port, socket.socket.close)
    assert caught.value.fix.startswith("Choose another port")


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70_000)])
def test_a_place_that_is_none_is_said(host: str, port: int) -> None:
    """A name without an address, and a port that is none."""
    with pytest.raises(ConnectError, match="cannot listen there"):
        ServerListener(host, port, socket.socket.close)


def test_a_process_that_may_open_no_more_files_goes_on_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The connection waits in the system's queue, and is accepted when there is room."""
    accepted = Event()

    class Exhausted:
        """A socket whose first accept fails."""

        def __init__(self, sock: socket.socket) -> None:
            self.sock = sock
            self.failures = 1

        def accept(self) -> tuple[socket.socket, object]:
            """Fail, once."""
            if self.failures:
                self.failures -= 1
                raise OSError(errno.EMFILE, "Too many open files")
            return self.sock.accept()

        def fileno(self) -> int:
            """Return the socket's."""
            return self.sock.fileno()

        def close(self) -> None:
            """Close the socket."""
            self.sock.close()

    def handle(sock: socket.socket) -> None:
        sock.close()
        accepted.set()

    listener = ServerListener("127.0.0.1", 0, handle)
    listener._socket = Exhausted(listener._socket)  # type: ignore[assignment]
    with (
        caplog.at_level(logging.WARNING),
        listener,
        socket.create_connection(("127.0.0.1", listener.port)),
    ):
        assert accepted.wait(DEADLINE_S)
    assert "Too many open files" in caplog.text
