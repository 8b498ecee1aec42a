from client_ends.echo_server import PLAINTEXT, Loopback
from kdiag.net.receive import InvalidReceiveError
from kdiag.net.selector.settings import NEVER, SelectorSettings


def test_settings_default_to_those_of_kafkas_clients() -> None:
    """Connections are closed after nine idle minutes, frames may have 100 MiB."""
    settings = SelectorSettings()

    assert settings.max_idle_ns == 540 * 10**9
    assert settings.max_receive_bytes == 104_857_600


def test_the_largest_frame_is_what_is_set() -> None:
    """One byte more ends the connection."""
    settings = SelectorSettings(max_idle_ns=NEVER, max_receive_bytes=10)
    with Loopback(PLAINTEXT, server=settings) as loopback:
        loopback.connect("1")
        loopback.send("1", bytes(10), bytes(11))
        loopback.poll_until(lambda: loopback.server.disconnected)

        assert loopback.server.payloads == [bytes(10)]
        assert isinstance(loopback.server.disconnected["1"].error, InvalidReceiveError)
