"""How TLS handshakes end that do not end well, seen from both ends."""

import socket
from collections.abc import Callable
from typing import NamedTuple

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from kdiag.errors import AuthenticationError, Layer
from kdiag.net.tls.context import TlsSettings
from kdiag.net.tls.failure import HandshakeBrokenError
from kdiag.net.tls.transport import TlsTransport
from secure_ends.certificates import EXPIRED, FUTURE, Issued
from secure_ends.tls_sockets import (
    AUTHORITY,
    CLIENT,
    HOST,
    SERVING,
    STRANGER,
    TRUSTING,
    Ends,
    client_side,
    connected,
    connected_by_tcp,
    identity,
    server_side,
)

VERSIONS = ("TLSv1.2", "TLSv1.3")
ALERT = 0x15
REQUIRED = SERVING._replace(client_auth="required")
REQUESTED = SERVING._replace(client_auth="requested")


class Outcome(NamedTuple):
    """What each end says of a handshake."""

    client: str
    server: str


def outcome(ends: Ends) -> Outcome:
    """Shake hands, read on both ends, and tell how it went."""
    told = {"client": "ready", "server": "ready"}
    for _ in range(4):
        for name, end in (("client", ends.client), ("server", ends.server)):
            try:
                end.handshake()
                end.read_into(memoryview(bytearray(10)))
            except AuthenticationError as error:
                told[name] = error.why
    return Outcome(**told)


def meet(client: TlsSettings, server: TlsSettings, version: str, host: str = HOST) -> Outcome:
    """Have two ends meet that speak one version."""
    context = client_side(client._replace(enabled_protocols=(version,)))
    with connected(context, server_side(server), host) as ends:
        return outcome(ends)


READY = Outcome("ready", "ready")


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Return each version that is spoken."""
    return str(request.param)


@pytest.mark.parametrize("host", [HOST, "127.0.0.1"])
def test_a_certificate_is_for_its_names_and_addresses(host: str, version: str) -> None:
    """A broker can be reached by any of them."""
    assert meet(TRUSTING, SERVING, version, host) == READY


@pytest.mark.parametrize("host", ["other.example.test", "127.0.0.2", "::1"])
def test_a_certificate_for_somebody_else_is_refused(host: str, version: str) -> None:
    """The client says what it is for, and the broker learns of it."""
    why = f"the certificate of the broker is not for {host}; it is for {HOST}, 127.0.0.1"

    assert meet(TRUSTING, SERVING, version, host) == (
        why,
        "the client refused the TLS handshake (alert bad_certificate)",
    )


def test_the_common_name_counts_only_without_other_names(version: str) -> None:
    """As in Java."""
    old = identity(SERVING, AUTHORITY.issue(HOST))
    new = identity(SERVING, AUTHORITY.issue(HOST, names=["other.test"]))

    assert meet(TRUSTING, old, version) == READY
    assert meet(TRUSTING, new, version).client.endswith(f"is not for {HOST}; it is for other.test")


def test_wildcards_stand_for_one_label(version: str) -> None:
    """They do not reach across a dot."""
    wild = identity(SERVING, AUTHORITY.issue("wild", names=["*.example.test"]))

    assert meet(TRUSTING, wild, version) == READY
    assert meet(TRUSTING, wild, version, "a.b.example.test").client.endswith("*.example.test")


def test_without_the_check_of_names_any_will_do(version: str) -> None:
    """An empty ssl.endpoint.identification.algorithm turns it off."""
    careless = TRUSTING._replace(verifies_hostname=False)

    assert meet(careless, SERVING, version, "other.example.test") == READY


@pytest.mark.parametrize("server", [REQUIRED, REQUESTED, SERVING])
def test_a_client_with_a_good_certificate_is_let_in(server: TlsSettings, version: str) -> None:
    """Whether it is asked for one or not."""
    assert meet(identity(TRUSTING, CLIENT), server, version) == READY


@pytest.mark.parametrize("server", [REQUESTED, SERVING])
def test_a_client_without_a_certificate_is_let_in_unless_one_is_required(
    server: TlsSettings, version: str
) -> None:
    """To be asked for one is not to need it."""
    assert meet(TRUSTING, server, version) == READY


def test_a_client_without_a_certificate_is_refused_if_one_is_required(version: str) -> None:
    """In TLS 1.3 the client learns of it after its handshake, when it reads."""
    client, server = meet(TRUSTING, REQUIRED, version)

    assert client.startswith("the broker refused the TLS handshake: ")
    assert "it asks for a client certificate and got none (alert " in client
    assert server == "the client does not suit us: it sent no certificate, and one is required"


@pytest.mark.parametrize("server", [REQUIRED, REQUESTED])
def test_a_client_with_a_bad_certificate_is_refused(server: TlsSettings, version: str) -> None:
    """Even where none would have been enough."""
    assert meet(identity(TRUSTING, STRANGER), server, version) == (
        (
            "the broker refused the TLS handshake: it does not trust the issuer of our certificate "
            "(alert unknown_ca)"
        ),
        "the certificate of the client is signed by somebody, who is not trusted",
    )


@pytest.mark.parametrize(
    ("issued", "why"),
    [
        (
            AUTHORITY.issue("broker", names=[HOST], life=EXPIRED),
            f"has expired on {EXPIRED.end:%Y-%m-%d %H:%M} UTC",
        ),
        (
            AUTHORITY.issue("broker", names=[HOST], life=FUTURE),
            f"is not valid before {FUTURE.begin:%Y-%m-%d %H:%M} UTC",
        ),
        (
            AUTHORITY.issue("middle", is_authority=True, life=EXPIRED).issue("x", names=[HOST]),
            f"has expired on {EXPIRED.end:%Y-%m-%d %H:%M} UTC (that of CN=middle)",
        ),
        (
            AUTHORITY.issue("broker", names=[HOST], purpose=ExtendedKeyUsageOID.CLIENT_AUTH),
            "is not for use by a server",
        ),
        (STRANGER, "is signed by CN=Strange Root, who is not trusted"),
    ],
    ids=["expired", "of tomorrow", "expired issuer", "of a client", "of a stranger"],
)
def test_a_bad_certificate_of_the_broker_is_told(issued: Issued, why: str, version: str) -> None:
    """The client says what is wrong with it, with times and names."""
    client, server = meet(TRUSTING, identity(SERVING, issued), version)

    assert client == f"the certificate of the broker {why}"
    assert server.startswith("the client refused the TLS handshake (alert ")


def test_ends_without_a_common_version_or_suite_refuse_each_other() -> None:
    """Each says what the other lacks."""
    only13 = SERVING._replace(enabled_protocols=("TLSv1.3",))
    other = SERVING._replace(cipher_suites=("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",))
    client = TRUSTING._replace(cipher_suites=("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",))

    assert meet(TRUSTING, only13, "TLSv1.2") == (
        (
            "the broker refused the TLS handshake: it speaks none of our TLS versions "
            "(alert protocol_version)"
        ),
        "the client does not suit us: it speaks none of our TLS versions",
    )
    assert meet(client, other, "TLSv1.2") == (
        (
            "the broker refused the TLS handshake: it has no TLS version or cipher suite in common "
            "with us (alert handshake_failure)"
        ),
        "the client does not suit us: it has no cipher suite in common with us",
    )


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", 'a web server answered: "HTTP/1.1 400 Bad Request"'),
        (b"SSH-2.0-OpenSSH_9.2\r\n", 'an SSH server answered: "SSH-2.0-OpenSSH_9.2"'),
        (bytes(range(20)), "it sent 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f"),
    ],
)
def test_a_port_that_does_not_speak_tls_is_told(first: bytes, why: str) -> None:
    """By what it says first."""
    with connected(client_side(), server_side()) as ends:
        ends.sockets[1].sendall(first)
        with pytest.raises(AuthenticationError) as raised:
            ends.client.handshake()

    assert raised.value.layer is Layer.TLS
    assert raised.value.why == f"the port does not speak TLS: {why}"
    assert raised.value.fix


@pytest.mark.parametrize(
    "first",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", bytes.fromhex("0000001a001200030000000000000000")],
)
def test_a_client_that_does_not_speak_tls_is_told(first: bytes) -> None:
    """A listener can tell who knocks."""
    with connected(client_side(), server_side()) as ends:
        ends.sockets[0].sendall(first)
        with pytest.raises(AuthenticationError, match="the client does not speak TLS: "):
            ends.server.handshake()


def test_a_port_that_closes_at_once_may_be_one_without_tls() -> None:
    """So does a plaintext listener of Kafka; it may be tried again."""
    with connected(client_side(), server_side()) as ends:
        ends.client.handshake()
        ends.sockets[1].close()
        with pytest.raises(HandshakeBrokenError) as raised:
            ends.client.handshake()

    told = raised.value.connect_error
    assert not isinstance(told, AuthenticationError)
    assert told.why.endswith(
        "without an answer to our TLS handshake, as a listener without TLS does"
    )
    assert told.fix.startswith("Use security.protocol PLAINTEXT or SASL_PLAINTEXT")


@pytest.mark.parametrize("size", [3, 200])
def test_a_connection_that_ends_in_the_middle_of_the_handshake_may_be_tried_again(
    size: int,
) -> None:
    """The peer had begun to speak TLS, so it is not the wrong port."""
    with connected(client_side(), server_side()) as ends:
        ends.client.handshake()
        ends.server.handshake()
        beginning = ends.sockets[0].recv(size)
        ends.sockets[0].recv(1 << 16)
        ends.sockets[1].sendall(beginning)
        ends.sockets[1].close()
        ends.client.handshake()
        with pytest.raises(HandshakeBrokenError, match="closed the connection during the TLS"):
            ends.client.handshake()


def test_a_goodbye_in_the_middle_of_the_handshake_is_an_end() -> None:
    """It is no refusal."""
    with connected(client_side(), server_side()) as ends:
        ends.client.handshake()
        ends.sockets[1].sendall(bytes.fromhex("15030300020100"))
        with pytest.raises(HandshakeBrokenError, match="the broker closed the connection"):
            ends.client.handshake()


def test_a_reset_in_the_middle_of_the_handshake_may_be_tried_again() -> None:
    """It is told as a connection that broke off."""
    with connected_by_tcp(client_side(), server_side()) as ends:
        ends.client.handshake()
        linger = (1).to_bytes(4, "little") + bytes(4)
        ends.sockets[1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        ends.sockets[1].close()
        with pytest.raises(HandshakeBrokenError, match="the broker broke off the connection"):
            ends.client.handshake()


def test_a_peer_that_is_gone_when_all_is_agreed_on_may_be_tried_again() -> None:
    """The last bytes of the handshake could not be written, and nobody said why."""
    with connected(client_side(), server_side()) as ends:
        ends.client.handshake()
        ends.server.handshake()
        ends.sockets[1].shutdown(socket.SHUT_RD)
        with pytest.raises(HandshakeBrokenError, match="the broker broke off the connection"):
            ends.client.handshake()


class DyingSocket(socket.socket):
    """A socket whose peer says something and is gone when it is written to."""

    last_words: Callable[[], object]

    def send(self, *_: object) -> int:
        """Let the peer speak, and fail."""
        self.last_words()
        raise BrokenPipeError


@pytest.mark.parametrize(
    ("words", "raised"),
    [
        (bytes.fromhex("15030300020228"), AuthenticationError),
        (bytes.fromhex("15030300020100"), HandshakeBrokenError),
        (b"", HandshakeBrokenError),
    ],
)
def test_an_alert_counts_though_writing_has_failed(words: bytes, raised: type[Exception]) -> None:
    """A peer that refuses us may be gone before we have said everything."""
    near, far = socket.socketpair()
    sock = DyingSocket(fileno=near.detach())
    sock.settimeout(0)
    sock.last_words = lambda: far.sendall(words)
    with sock, far:
        transport = TlsTransport(sock, f"{HOST}:9093", client_side(), HOST)
        with pytest.raises(raised):
            transport.handshake()


def test_a_refusal_is_raised_when_the_peer_was_told() -> None:
    """While the socket is full, the alert waits, and so does the error."""
    only12 = client_side(TRUSTING._replace(enabled_protocols=("TLSv1.2",)))
    only13 = server_side(SERVING._replace(enabled_protocols=("TLSv1.3",)))
    with connected(only12, only13) as ends:
        ends.client.handshake()
        full = fill(ends.sockets[1])

        ends.server.handshake()

        assert (ends.server.is_ready, ends.server.wants_write) == (False, True)
        while full:
            full -= len(ends.sockets[0].recv(full))
        with pytest.raises(AuthenticationError, match="speaks none of our TLS versions"):
            ends.server.handshake()
        assert ends.sockets[0].recv(100)[0] == ALERT


def test_a_refusal_is_raised_though_nobody_listens_any_more() -> None:
    """The alert cannot be sent, and the reason is the same."""
    with connected(client_side(), server_side()) as ends:
        ends.sockets[0].sendall(b"GET / HTTP/1.1\r\n\r\n")
        ends.sockets[0].close()
        for _ in range(2):
            with pytest.raises(AuthenticationError, match="the client does not speak TLS"):
                ends.server.handshake()


def fill(sock: socket.socket) -> int:
    """Write to a socket until it takes no more, and return how many bytes it took."""
    count = 0
    try:
        while True:
            count += sock.send(bytes(1 << 16))
    except BlockingIOError:
        return count
