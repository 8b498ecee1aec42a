import socket

import pytest

from kdiag.net.server.listener import ServerListener
from kdiag.net.server.port_hold import PortHold


def test_a_port_that_is_held_refuses_connections_until_somebody_listens() -> None:
    """Who listens there begins while it is held, so that nobody comes in between."""
    with ServerListener("127.0.0.1", 0, socket.socket.close) as first:
        port = first.port
    with PortHold("127.0.0.1", port) as hold:
        assert repr(hold) == f"<PortHold 127.0.0.1:{port}: held>"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 5)
        with ServerListener("127.0.0.1", port, socket.socket.close) as again:
            hold.close()
            socket.create_connection(("127.0.0.1", again.port), 5).close()


def test_a_port_that_somebody_listens_at_is_not_held() -> None:
    """The hold is empty, and closing it does nothing."""
    with ServerListener("127.0.0.1", 0, socket.socket.close) as listener:
        hold = PortHold("127.0.0.1", listener.port)
        assert repr(hold) == f"<PortHold 127.0.0.1:{listener.port}: empty>"
        hold.close()
