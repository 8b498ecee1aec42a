import socket

import pytest

from client_ends.client_peers import MS, closed_port, silent_server
from kdiag.net.address import Address
from kdiag.net.tls.question import client_hello, speaks_tls
from scripted_kafka.foreign_server import HTTP, SERVER_HELLO, hanging_up, saying
from scripted_kafka.scripted_broker import ScriptedBroker
from secure_ends.tls_sockets import server_side
from tiers.cases import for_each

ALERT = b"\x15\3\3\0\2\2\x28"


def address(port: int, host: str = "localhost") -> Address:
    """Return a port of this machine."""
    return Address(host, port, "127.0.0.1", socket.AF_INET)


@pytest.mark.parametrize("answer", [SERVER_HELLO, ALERT], ids=["ServerHello", "alert"])
def test_an_answer_in_tls_is_one(answer: bytes) -> None:
    """Whether it goes on or refuses."""
    with hanging_up(unless_tls=answer) as port:
        assert speaks_tls(address(port))


def test_a_real_tls_listener_answers() -> None:
    """By a name that its certificate has not: nothing is verified."""
    with ScriptedBroker(tls=server_side()) as broker:
        assert speaks_tls(address(broker.port, "elsewhere.example.test"))


@for_each("answer", [b"", b"\x16", b"\x16\2", HTTP])
def test_nothing_else_is(answer: bytes) -> None:
    """The end, half an answer, another protocol."""
    with hanging_up(unless_tls=answer) as port:
        assert not speaks_tls(address(port))


def test_who_does_not_answer_in_time_does_not_speak_tls() -> None:
    """Nor who cannot be connected to, nor whoever there is no time for."""
    with silent_server() as port:
        assert not speaks_tls(address(port), 20 * MS)
    assert not speaks_tls(address(closed_port()))
    with saying(SERVER_HELLO) as port:
        assert not speaks_tls(address(port), 0)


def test_a_name_that_tls_cannot_carry_is_not_asked_for() -> None:
    """Labels of names have up to 63 characters."""
    with saying(SERVER_HELLO) as port:
        assert not speaks_tls(address(port, "x" * 64 + ".test"))


def test_a_client_hello_is_a_handshake_record_that_names_the_host() -> None:
    """Servers with many names choose by it."""
    hello = client_hello("kafka.example.test")
    assert hello[:2] == b"\x16\3"
    assert b"kafka.example.test" in hello
