import logging
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator

import msgspec
import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.security.listener import ListenerSettings
from kdiag.lab.security.users import UserStore
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from lab_ends.secure_lab import PASSWORD, USER

RIGHT = f"\0{USER}\0{PASSWORD}".encode()
METADATA = MetadataRequest(topics=[])


@pytest.fixture
def client(lab: LabCluster) -> Iterator[LabClient]:
    """Return a client of the listener for SASL without TLS."""
    with LabClient(lab.nodes[0].ports["SASL_PLAINTEXT"]) as connected:
        yield connected


def handshake(client: LabClient, mechanism: str, version: int = 1) -> str:
    """Return the error of a handshake."""
    request = SaslHandshakeRequest(mechanism=mechanism)
    response = client.ask(request, SaslHandshakeResponse, version)
    assert "SCRAM-SHA-512" in response.mechanisms
    return error_name(response.error_code)


def authenticate(client: LabClient, token: bytes, version: int = 2) -> SaslAuthenticateResponse:
    """Return the response to a token."""
    request = SaslAuthenticateRequest(auth_bytes=token)
    return client.ask(request, SaslAuthenticateResponse, version)


def bearer(**claims: object) -> bytes:
    """Return the first token of OAUTHBEARER."""
    parts = ({"alg": "none"}, {"sub": USER, "exp": time.time() + 60, **claims})
    texts = [urlsafe_b64encode(msgspec.json.encode(part)).decode().rstrip("=") for part in parts]
    return f"n,,\x01auth=Bearer {'.'.join(texts)}.\x01\x01".encode()


def test_a_mechanism_that_checks_nothing_must_be_named() -> None:
    """A listener offers those that check passwords, and refuses OAUTHBEARER."""
    settings = LabSettings(
        listeners=(ListenerSettings("SASL_PLAINTEXT"),), users=UserStore({USER: PASSWORD})
    )
    request = SaslHandshakeRequest(mechanism="OAUTHBEARER")
    with LabCluster(settings) as lab, LabClient(lab.nodes[0].port) as unnamed:
        response = unnamed.ask(request, SaslHandshakeResponse, 1)
    assert error_name(response.error_code) == "UNSUPPORTED_SASL_MECHANISM"
    assert response.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@pytest.mark.parametrize("version", range(3))
def test_a_client_that_has_proved_who_it_is_is_heard(client: LabClient, version: int) -> None:
    """After ApiVersions, SaslHandshake and SaslAuthenticate."""
    assert client.ask(ApiVersionsRequest(), ApiVersionsResponse, 0).error_code == 0
    assert handshake(client, "PLAIN") == "NONE"
    assert authenticate(client, RIGHT, version).error_code == 0
    assert client.ask(METADATA, MetadataResponse, 12).brokers


def test_tokens_may_have_no_header(client: LabClient) -> None:
    """After a handshake of version 0."""
    assert handshake(client, "PLAIN", 0) == "NONE"
    client.send_frame(RIGHT)
    assert client.receive_frame() == b""
    assert client.ask(METADATA, MetadataResponse, 12).brokers


@pytest.mark.parametrize(
    "token",
    [b"\0alice\0wrong", b"\0nobody\0wrong", b"bob\0alice\0" + PASSWORD.encode(), b"", b"\0\0\0\0"],
)
def test_a_wrong_token_is_answered_and_the_connection_ends(client: LabClient, token: bytes) -> None:
    """The error does not tell who there is."""
    handshake(client, "PLAIN")
    response = authenticate(client, token)
    assert error_name(response.error_code) == "SASL_AUTHENTICATION_FAILED"
    assert "alice" not in (response.error_message or "")
    assert client.receive_frame() == b""


def test_a_mechanism_that_is_not_enabled_is_refused_with_those_that_are(client: LabClient) -> None:
    """And the connection ends."""
    assert handshake(client, "GSSAPI") == "UNSUPPORTED_SASL_MECHANISM"
    assert client.receive_frame() == b""


def test_nothing_else_is_heard_before(
    lab: LabCluster, client: LabClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever sends it is hung up on, with one line in the log."""
    with caplog.at_level(logging.WARNING):
        address = "{}:{}".format(*client.socket.getsockname())
        client.send(METADATA, 12)
        assert client.receive_frame() == b""
        with LabClient(lab.nodes[0].ports["PLAINTEXT"]) as other:
            other.ask(METADATA, MetadataResponse, 12)  # it still answers
    (line,) = (each for each in caplog.messages if address in each)  # other labs tell, too
    assert "Metadata was sent before the client has proved who it is" in line


@pytest.mark.parametrize("frame", [b"", b"\0\x11", b"\xff" * 40, b"\0\x12\0\x03" + b"\xff" * 30])
def test_garbage_ends_its_connection(client: LabClient, frame: bytes) -> None:
    """Before and after the handshake."""
    client.send_frame(frame)
    assert client.receive_frame() == b""


def test_a_frame_that_is_too_large_is_not_read(client: LabClient) -> None:
    """Half a megabyte is the most."""
    client.socket.sendall((600_000).to_bytes(4))
    assert client.receive_frame() == b""


def test_api_versions_of_an_unknown_version_is_answered_in_version_0(client: LabClient) -> None:
    """And can be asked again."""
    client.send_frame(b"\0\x12\x7f\xff\0\0\0\x01\xff\xff\0")
    assert client.receive_frame()[:6] == b"\0\0\0\x01\0\x23"
    client._correlation_id = 0
    assert client.ask(ApiVersionsRequest(), ApiVersionsResponse, 0).error_code == 0


def test_a_bearer_token_lasts_as_long_as_it_says_and_is_renewed(client: LabClient) -> None:
    """On the same connection, by the same mechanism and for the same user."""
    handshake(client, "OAUTHBEARER")
    lasts_ms = authenticate(client, bearer()).session_lifetime_ms
    assert 50_000 < lasts_ms <= 60_000
    assert client.ask(METADATA, MetadataResponse, 12).brokers
    assert handshake(client, "OAUTHBEARER") == "NONE"
    assert authenticate(client, bearer()).error_code == 0
    assert client.ask(METADATA, MetadataResponse, 12).brokers
    client.send(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)  # once a second at most
    again = client.receive(SaslHandshakeResponse, 1)
    assert error_name(again.error_code) == "ILLEGAL_SASL_STATE"


def test_another_user_cannot_renew_a_session(client: LabClient) -> None:
    """It is somebody else's."""
    handshake(client, "OAUTHBEARER")
    authenticate(client, bearer())
    handshake(client, "OAUTHBEARER")
    response = authenticate(client, bearer(sub="mallory"))
    assert error_name(response.error_code) == "SASL_AUTHENTICATION_FAILED"


@pytest.mark.parametrize(
    "claims", [{"exp": 1}, {"exp": "x"}, {"sub": ""}, {"sub": 7}, {"exp": None}], ids=str
)
def test_a_bad_bearer_token_is_refused_in_two_steps(
    client: LabClient, claims: dict[str, object]
) -> None:
    """First as JSON, then by the error (RFC 7628)."""
    handshake(client, "OAUTHBEARER")
    first = authenticate(client, bearer(**claims))
    assert (first.error_code, first.auth_bytes) == (0, b'{"status":"invalid_token"}')
    second = authenticate(client, b"\x01")
    assert error_name(second.error_code) == "SASL_AUTHENTICATION_FAILED"
    assert client.receive_frame() == b""


def test_a_listener_without_sasl_says_so(lab: LabCluster) -> None:
    """ILLEGAL_SASL_STATE to both requests."""
    with LabClient(lab.nodes[0].ports["PLAINTEXT"]) as client:
        request = SaslHandshakeRequest(mechanism="PLAIN")
        shaken = client.ask(request, SaslHandshakeResponse, 1)
        assert error_name(shaken.error_code) == "ILLEGAL_SASL_STATE"
        assert error_name(authenticate(client, b"").error_code) == "ILLEGAL_SASL_STATE"
