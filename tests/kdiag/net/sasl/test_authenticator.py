import select
import socket
import struct
from collections.abc import Iterator

import pytest

from kdiag.clock import ManualClock
from kdiag.errors import AuthenticationError, ConnectError, Layer
from kdiag.net.receive import InvalidReceiveError, NetworkReceive
from kdiag.net.sasl.authenticator import MAX_SASL_FRAME_BYTES, SaslAuthenticator, SaslExchange
from kdiag.net.sasl.mechanism import Plain
from kdiag.net.sasl.oauthbearer import OauthBearer
from kdiag.net.sasl.tokens import LiteralToken
from kdiag.net.transport import PlaintextTransport
from kdiag.wire.api.metadata import MetadataResponse
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeResponse
from recordings.exchange_maker import response_bytes
from secure_ends.sasl_peer import SaslPeer, offer

NS_PER_S = 1_000_000_000
OFFER = offer((17, 0, 1), (18, 0, 4), (36, 0, 2))
OLD_OFFER = offer((17, 0, 0), (18, 0, 0))
PLAIN = Plain("alice", "s3cret")
REFUSED = 58


@pytest.fixture
def peer() -> Iterator[SaslPeer]:
    """Yield a connection with a broker that says what the test says."""
    with SaslPeer() as both:
        yield both


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that the test advances."""
    return ManualClock(epoch_ns=1_700_000_000 * NS_PER_S)


@pytest.fixture
def exchanges() -> list[SaslExchange]:
    """Return what the observer was told."""
    return []


@pytest.fixture
def authenticator(clock: ManualClock, exchanges: list[SaslExchange]) -> SaslAuthenticator:
    """Return alice's authenticator."""
    return SaslAuthenticator(PLAIN, clock, "7", "kdiag-test", exchanges.append)


def come_to_the_token(authenticator: SaslAuthenticator, peer: SaslPeer) -> None:
    """Go on until the client has said its token and waits for the answer."""
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.answer(OFFER)
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.answer(SaslHandshakeResponse(mechanisms=["PLAIN"]))
    authenticator.authenticate(peer.transport)
    peer.hear()


def complete(authenticator: SaslAuthenticator, peer: SaslPeer, lifetime_ms: int = 0) -> None:
    """Authenticate."""
    come_to_the_token(authenticator, peer)
    peer.answer(SaslAuthenticateResponse(session_lifetime_ms=lifetime_ms))
    authenticator.authenticate(peer.transport)
    assert authenticator.is_complete


def state(authenticator: SaslAuthenticator) -> str:
    """Return what it waits for."""
    if authenticator.is_complete:
        return "nothing"
    return "writing" if authenticator.wants_write else "reading"


def refusal(authenticator: SaslAuthenticator, peer: SaslPeer) -> ConnectError:
    """Return why the authenticator gives up."""
    with pytest.raises(ConnectError) as raised:
        authenticator.authenticate(peer.transport)
    assert raised.value.address == "broker:9093"
    assert "s3cret" not in f"{raised.value} {raised.value.fix} {authenticator!r}"
    return raised.value


def test_a_client_is_authenticated_in_three_questions(
    authenticator: SaslAuthenticator, peer: SaslPeer
) -> None:
    """It writes first, and then waits for each answer."""
    assert state(authenticator) == "writing"
    authenticator.authenticate(peer.transport)
    assert state(authenticator) == "reading"
    assert peer.hear().api_key == 18
    peer.answer(OFFER)
    authenticator.authenticate(peer.transport)
    assert peer.hear().api_key == 17
    peer.answer(SaslHandshakeResponse(mechanisms=["PLAIN"]))
    authenticator.authenticate(peer.transport)
    heard = peer.hear()
    assert heard.api_key == 36
    assert b"\0alice\0s3cret" in heard.data
    peer.answer(SaslAuthenticateResponse())
    authenticator.authenticate(peer.transport)
    assert state(authenticator) == "nothing"
    assert authenticator.reauthenticate_at_ns is None


def test_answers_may_come_byte_by_byte(authenticator: SaslAuthenticator, peer: SaslPeer) -> None:
    """Each call goes on with what is there and returns."""
    for message in (OFFER, SaslHandshakeResponse(), SaslAuthenticateResponse()):
        authenticator.authenticate(peer.transport)
        heard = peer.hear()
        frame = response_bytes(message, heard.version, correlation_id=heard.correlation_id)
        for byte in struct.pack(">i", len(frame)) + frame:
            assert state(authenticator) == "reading"
            peer.socket.sendall(bytes([byte]))
            authenticator.authenticate(peer.transport)
    assert state(authenticator) == "nothing"


def test_a_token_too_large_for_the_socket_is_written_in_parts(
    clock: ManualClock, peer: SaslPeer
) -> None:
    """Meanwhile it says that it waits to write."""
    mechanism = OauthBearer(LiteralToken("x" * 500_000), clock)
    authenticator = SaslAuthenticator(mechanism, clock, "7", "kdiag-test")
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.answer(OFFER)
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.answer(SaslHandshakeResponse())
    peer.socket.settimeout(0)
    authenticator.authenticate(peer.transport)
    heard = 0
    assert state(authenticator) == "writing"
    while state(authenticator) == "writing":
        heard += len(peer.socket.recv(1 << 20))
        authenticator.authenticate(peer.transport)
    assert heard + len(peer.socket.recv(1 << 20)) > 500_000


def test_an_old_broker_is_satisfied_with_a_bare_token(
    authenticator: SaslAuthenticator, peer: SaslPeer, exchanges: list[SaslExchange]
) -> None:
    """It answers with an empty frame; there is no header to observe."""
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.answer(OLD_OFFER)
    authenticator.authenticate(peer.transport)
    assert peer.hear().version == 0
    peer.answer(SaslHandshakeResponse())
    authenticator.authenticate(peer.transport)
    assert peer.hear().data == b"\0alice\0s3cret"
    peer.say(b"")
    authenticator.authenticate(peer.transport)
    assert authenticator.is_complete
    assert exchanges[-1][1:4] == (None, None, None)
    assert exchanges[-1].response is not None
    assert exchanges[-1].response.data == b""


def test_the_session_is_renewed_when_nine_tenths_of_it_have_passed(
    authenticator: SaslAuthenticator, peer: SaslPeer, clock: ManualClock
) -> None:
    """From 85 to 95 %, so that clients which came together do not come together again."""
    clock.advance(5 * NS_PER_S)
    authenticator.draw = lambda: 0.0
    complete(authenticator, peer, lifetime_ms=100_000)
    due_ns = [authenticator.reauthenticate_at_ns]
    authenticator.draw = lambda: 1.0
    authenticator.reauthenticate()
    due_ns.append(authenticator.reauthenticate_at_ns)
    authenticator.authenticate(peer.transport)
    assert peer.hear().api_key == 17
    peer.answer(SaslHandshakeResponse())
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.answer(SaslAuthenticateResponse(session_lifetime_ms=100_000))
    authenticator.authenticate(peer.transport)
    due_ns.append(authenticator.reauthenticate_at_ns)
    assert due_ns == [90 * NS_PER_S, None, 100 * NS_PER_S]


def test_by_default_renewals_are_spread_at_random(clock: ManualClock) -> None:
    """Two connections of one client differ."""
    every = [SaslAuthenticator(PLAIN, clock, "7", "kdiag-test") for _ in range(5)]
    drawn = {each.draw() for each in every}
    assert len(drawn) == 5
    assert all(0 <= each < 1 for each in drawn)


def test_answers_to_earlier_requests_are_kept_for_the_channel(
    authenticator: SaslAuthenticator, peer: SaslPeer, clock: ManualClock
) -> None:
    """One was half read when the renewal began, another comes whole in between."""
    complete(authenticator, peer, lifetime_ms=60_000)
    first, second = (
        response_bytes(MetadataResponse(cluster_id="x" * 600_000), 12, correlation_id=number)
        for number in (41, 42)
    )
    half_read = NetworkReceive("7")
    peer.socket.sendall(struct.pack(">i", len(first)) + first[:9])
    half_read.read_from(peer.transport, clock)
    authenticator.reauthenticate(half_read)
    authenticator.authenticate(peer.transport)
    peer.hear()
    say_in_parts(authenticator, peer, first[9:])
    assert authenticator.poll_response() is half_read
    assert half_read.payload == first
    assert authenticator.poll_response() is None
    say_in_parts(authenticator, peer, struct.pack(">i", len(second)) + second)
    peer.answer(SaslHandshakeResponse())
    authenticator.authenticate(peer.transport)
    other = authenticator.poll_response()
    assert other is not None
    assert (other.channel_id, other.payload) == ("7", second)
    peer.hear()
    peer.answer(SaslAuthenticateResponse())
    authenticator.authenticate(peer.transport)
    assert authenticator.is_complete


def say_in_parts(authenticator: SaslAuthenticator, peer: SaslPeer, data: bytes) -> None:
    """Send more than the socket takes at once, while the client reads."""
    for start in range(0, len(data), 10_000):
        peer.socket.sendall(data[start : start + 10_000])
        authenticator.authenticate(peer.transport)


def test_a_wrong_password_is_told_with_what_the_broker_said(
    authenticator: SaslAuthenticator, peer: SaslPeer
) -> None:
    """Trying again would not help."""
    come_to_the_token(authenticator, peer)
    said = "Authentication failed: Invalid username or password"
    peer.answer(SaslAuthenticateResponse(error_code=REFUSED, error_message=said))
    error = refusal(authenticator, peer)
    assert isinstance(error, AuthenticationError)
    assert error.layer is Layer.SASL
    assert said in error.why
    assert error.fix.startswith("Check user name and password")


def test_a_broker_that_closes_at_the_first_question_is_no_sasl_listener(
    authenticator: SaslAuthenticator, peer: SaslPeer, exchanges: list[SaslExchange]
) -> None:
    """A TLS listener, or no Kafka at all."""
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.socket.close()
    error = refusal(authenticator, peer)
    assert isinstance(error, AuthenticationError)
    assert "closed when ApiVersions was asked" in error.why
    assert "SASL_SSL" in error.fix
    assert [each.response for each in exchanges] == [None]


def test_a_broker_that_closes_later_may_be_asked_again(
    authenticator: SaslAuthenticator, peer: SaslPeer
) -> None:
    """It has spoken Kafka, so it was stopped, or it has failed."""
    come_to_the_token(authenticator, peer)
    peer.socket.close()
    error = refusal(authenticator, peer)
    assert not isinstance(error, AuthenticationError)
    assert error.layer is Layer.SASL
    assert "closed when SaslAuthenticate was asked" in error.why


def test_an_old_broker_refuses_by_closing(authenticator: SaslAuthenticator, peer: SaslPeer) -> None:
    """Before SaslAuthenticate there was no way to say why (KIP-152)."""
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.answer(OLD_OFFER)
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.answer(SaslHandshakeResponse())
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.socket.close()
    error = refusal(authenticator, peer)
    assert isinstance(error, AuthenticationError)
    assert "refused user 'alice'" in error.why


@pytest.mark.parametrize("size", [MAX_SASL_FRAME_BYTES + 1, (1 << 31) - 1, -1])
def test_a_lying_length_is_refused_before_anything_is_allocated(
    size: int, authenticator: SaslAuthenticator, peer: SaslPeer
) -> None:
    """No answer in this conversation is larger than half a megabyte."""
    authenticator.authenticate(peer.transport)
    peer.hear()
    peer.socket.sendall(struct.pack(">i", size))
    error = refusal(authenticator, peer)
    assert isinstance(error, InvalidReceiveError)
    assert str(size) in error.why


def test_an_answer_to_nothing_that_was_asked_is_refused(
    authenticator: SaslAuthenticator, peer: SaslPeer
) -> None:
    """Before the first authentication there is nothing else to be answered."""
    authenticator.authenticate(peer.transport)
    asked = peer.hear().correlation_id
    peer.say(response_bytes(OFFER, 0, correlation_id=5))
    assert f"correlation id {asked} was asked with, but 5 was answered" in (
        refusal(authenticator, peer).why
    )


def test_a_failure_is_final(authenticator: SaslAuthenticator, peer: SaslPeer) -> None:
    """Whoever asks again is told the same, whatever the broker says meanwhile."""
    come_to_the_token(authenticator, peer)
    peer.answer(SaslAuthenticateResponse(error_code=REFUSED, error_message="no"))
    error = refusal(authenticator, peer)
    peer.answer(SaslAuthenticateResponse())
    assert refusal(authenticator, peer) is error
    assert state(authenticator) == "reading"


def test_a_connection_that_is_reset_has_ended_early(clock: ManualClock) -> None:
    """A system resets one that is closed with bytes unread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        accepted, _ = listener.accept()
    client.settimeout(0)
    transport = PlaintextTransport(client, "broker:9093")
    authenticator = SaslAuthenticator(PLAIN, clock, "7", "kdiag-test")
    authenticator.authenticate(transport)
    accepted.recv(1)
    accepted.close()
    select.select([client], [], [], 30)
    with pytest.raises(AuthenticationError, match="closed when ApiVersions was asked"):
        authenticator.authenticate(transport)
    transport.close()


def test_each_exchange_is_observed_with_its_times(
    authenticator: SaslAuthenticator,
    peer: SaslPeer,
    clock: ManualClock,
    exchanges: list[SaslExchange],
) -> None:
    """A trace shows them; hiding what is secret is up to whoever prints."""
    authenticator.authenticate(peer.transport)
    heard = peer.hear()
    clock.advance(3)
    peer.answer(OFFER)
    authenticator.authenticate(peer.transport)
    (seen,) = exchanges
    assert seen[:4] == ("7", 18, 0, heard.correlation_id)
    assert seen.request.data == heard.data
    assert seen.request.is_whole
    assert seen.response is not None
    assert seen.response.data == response_bytes(OFFER, 0, correlation_id=heard.correlation_id)
    assert seen.response.first_byte_ns - seen.request.last_byte_ns == 3
    assert seen.request.first_byte_ns == 1_700_000_000 * NS_PER_S


def test_a_connection_that_breaks_is_reported_as_it_broke(
    authenticator: SaslAuthenticator, peer: SaslPeer, exchanges: list[SaslExchange]
) -> None:
    """What was never written was not asked."""
    peer.socket.close()
    with pytest.raises(BrokenPipeError):
        authenticator.authenticate(peer.transport)
    assert exchanges == []


def test_neither_exchange_nor_authenticator_shows_what_was_said(
    authenticator: SaslAuthenticator, peer: SaslPeer, exchanges: list[SaslExchange]
) -> None:
    """Both go into logs and tracebacks."""
    complete(authenticator, peer)
    assert len(exchanges) == 3
    assert "s3cret" not in f"{exchanges!r} {authenticator!r}"


def test_a_client_that_refuses_has_nothing_to_report(
    authenticator: SaslAuthenticator, peer: SaslPeer
) -> None:
    """Only a server tells its peer that it was refused."""
    authenticator.handle_authentication_failure(peer.transport)
    peer.socket.settimeout(0)
    with pytest.raises(BlockingIOError):
        peer.socket.recv(1)
