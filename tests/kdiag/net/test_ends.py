import socket
from contextlib import closing

import pytest

from kdiag.net.ends import ends_of


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_a_connection_has_two_named_ends(family: socket.AddressFamily, host: str) -> None:
    """Each end calls itself what the other calls it, and the socket stays open."""
    with (
        closing(socket.create_server((host, 0), family=family)) as server,
        closing(socket.create_connection(server.getsockname()[:2])) as client,
        closing(server.accept()[0]) as accepted,
    ):
        local, peer = ends_of(client.fileno())
        assert ends_of(accepted.fileno()) == (peer, local)
        assert peer.endswith(f":{server.getsockname()[1]}")
        assert peer.startswith(f"[{host}]:" if ":" in host else f"{host}:")
        client.sendall(b"x")
        assert accepted.recv(1) == b"x"


def test_an_unconnected_socket_has_no_ends() -> None:
    """There is nobody at the other end to be named."""
    with socket.socket() as unconnected, pytest.raises(OSError, match="not connected"):
        ends_of(unconnected.fileno())
