"""Both ways to carry bytes: what holds for a selector holds with and without TLS."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from client_ends.echo_server import PLAINTEXT, SETTINGS, Loopback, Security
from kdiag.net.selector.selector import SelectorSettings
from kdiag.net.tls.transport import TlsTransport
from secure_ends import tls_pair

MakeLoopback = Callable[..., Loopback]


@pytest.fixture(params=["plaintext", "tls"])
def security(request: pytest.FixtureRequest, tmp_path: Path) -> Security:
    """Return how both ends make their transports."""
    return PLAINTEXT if request.param == "plaintext" else _tls(tmp_path)


@pytest.fixture
def make_loopback(security: Security) -> Iterator[MakeLoopback]:
    """Return a function from the settings of client and server to both, closed after the test."""
    with ExitStack() as opened:

        def make(
            client: SelectorSettings = SETTINGS, server: SelectorSettings = SETTINGS
        ) -> Loopback:
            return opened.enter_context(Loopback(security, client, server))

        yield make


@pytest.fixture
def loopback(make_loopback: MakeLoopback) -> Loopback:
    """Return a client and a server that echoes."""
    return make_loopback()


def _tls(folder: Path) -> Security:
    """Return a client and a server that trust each other."""
    peers = tls_pair.make_peers(folder)
    return Security(
        "tls",
        lambda sock, peer, host: TlsTransport(sock, peer, peers.client, host),
        lambda sock, peer, _: TlsTransport(sock, peer, peers.server, None, is_server=True),
        tls_pair.HOST,
    )
