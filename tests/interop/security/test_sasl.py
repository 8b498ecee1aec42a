"""Real brokers take kdiag's authentication, renewals included, and its refusals say why."""

import hashlib
import os
import ssl
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from client_ends.broker_socket import BrokerSocket
from kdiag.clock import SystemClock
from kdiag.errors import AuthenticationError, ConnectError, Layer
from kdiag.net.receive import NetworkReceive
from kdiag.net.sasl.authenticator import SaslExchange
from kdiag.net.sasl.mechanism import Plain, SaslMechanism
from kdiag.net.sasl.oauthbearer import OauthBearer
from kdiag.net.sasl.scram import Scram
from kdiag.net.sasl.tokens import FileToken, UnsecuredToken
from kdiag.wire.api.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from kdiag.wire.api.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kdiag.wire.api.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.error_code import error_name
from real_kafka.releases import VERSIONS
from real_kafka.secure_cluster import USERS, Listener, SecureCluster
from secure_ends.sasl_client import CHANNEL, SaslClient
from tiers.attempts import measure_again

pytestmark = pytest.mark.soak

CLOCK = SystemClock()
HANDSHAKE = 17
ITERATIONS = 4096
SHA_512 = 2
"""SCRAM-SHA-512 in Kafka's numbers."""

REFUSED_SCRAM = "invalid credentials with SASL mechanism"


def unsecured(user: str, lifetime_s: int = 60) -> OauthBearer:
    """Return OAUTHBEARER with a token of our own making."""
    options = {
        "unsecuredLoginStringClaim_sub": user,
        "unsecuredLoginLifetimeSeconds": str(lifetime_s),
    }
    return OauthBearer(UnsecuredToken(options, CLOCK), CLOCK, {"traceId": "42"})


def mechanisms(user: str, password: str) -> dict[str, SaslMechanism]:
    """Return each mechanism for one user."""
    return {
        "PLAIN": Plain(user, password),
        "SCRAM-SHA-256": Scram("SCRAM-SHA-256", user, password),
        "SCRAM-SHA-512": Scram("SCRAM-SHA-512", user, password),
        "OAUTHBEARER": unsecured(user),
    }


ALICE = mechanisms("alice", USERS["alice"])


@pytest.fixture(scope="module", params=VERSIONS)
def cluster(
    request: pytest.FixtureRequest, get_secure_cluster: Callable[[str], SecureCluster]
) -> SecureCluster:
    """Return a running broker."""
    return get_secure_cluster(request.param)


def refusal(address: str, mechanism: SaslMechanism) -> ConnectError:
    """Return why a broker does not let a client in."""
    with pytest.raises(ConnectError) as raised:
        SaslClient(address, mechanism)
    assert raised.value.address == address
    assert raised.value.fix
    return raised.value


@pytest.mark.parametrize("name", ALICE)
def test_a_broker_takes_each_mechanism(name: str, cluster: SecureCluster) -> None:
    """Afterwards the channel carries requests."""
    with SaslClient(cluster.address(Listener.SASL_PLAINTEXT), ALICE[name]) as client:
        assert client.ask(MetadataRequest(), 12, MetadataResponse).brokers
        assert [each.api_key for each in client.exchanges[:3]] == [18, 17, 36]


@pytest.mark.real
@pytest.mark.parametrize("name", ALICE)
def test_a_broker_takes_each_mechanism_over_tls(name: str, cluster: SecureCluster) -> None:
    """The same conversation in another transport."""
    trusting = ssl.create_default_context(cafile=cluster.certificates.authority)
    with SaslClient(cluster.address(Listener.SASL_SSL), ALICE[name], trusting) as client:
        assert client.ask(MetadataRequest(), 12, MetadataResponse).brokers


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("PLAIN", "Authentication failed: Invalid username or password"),
        ("SCRAM-SHA-256", REFUSED_SCRAM),
        ("SCRAM-SHA-512", REFUSED_SCRAM),
    ],
)
def test_a_wrong_password_is_told(name: str, said: str, cluster: SecureCluster) -> None:
    """With what the broker says, but without the password."""
    mechanism = mechanisms("alice", "wr0ng")[name]
    error = refusal(cluster.address(Listener.SASL_PLAINTEXT), mechanism)
    assert isinstance(error, AuthenticationError)
    assert error.layer is Layer.SASL
    assert f"refused user 'alice' ({name})" in error.why
    assert said in error.why
    assert "wr0ng" not in f"{error} {error.fix}"


@pytest.mark.parametrize("name", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_an_unknown_user_is_told_as_a_wrong_password_is(name: str, cluster: SecureCluster) -> None:
    """A broker does not tell which users it has."""
    mechanism = mechanisms("nobody", "wr0ng")[name]
    error = refusal(cluster.address(Listener.SASL_PLAINTEXT), mechanism)
    assert f"refused user 'nobody' ({name})" in error.why


def test_an_expired_token_is_called_so(cluster: SecureCluster) -> None:
    """The broker says only that it is invalid; the token itself says why."""
    error = refusal(cluster.address(Listener.SASL_PLAINTEXT), unsecured("alice", -60))
    assert "invalid_token; it expired at " in error.why
    assert error.fix == "Get a new token"


def test_a_token_that_is_none_is_refused(cluster: SecureCluster, tmp_path: Path) -> None:
    """Signed or not, a broker wants a JWT."""
    file = tmp_path / "token"
    file.write_text("opaque")
    mechanism = OauthBearer(FileToken(file), CLOCK)
    error = refusal(cluster.address(Listener.SASL_PLAINTEXT), mechanism)
    assert "refused the token (OAUTHBEARER): invalid_token" in error.why


def test_a_mechanism_that_is_not_enabled_is_told_with_those_that_are(
    cluster: SecureCluster,
) -> None:
    """The listener has SCRAM-SHA-512 alone."""
    error = refusal(cluster.address(Listener.SCRAM_ONLY), ALICE["PLAIN"])
    assert "PLAIN is not enabled on this listener; enabled: SCRAM-SHA-512" in error.why


def test_a_listener_without_sasl_is_recognized(cluster: SecureCluster) -> None:
    """A PLAINTEXT listener answers the first question as any other."""
    error = refusal(cluster.address(Listener.PLAINTEXT), ALICE["PLAIN"])
    assert isinstance(error, AuthenticationError)
    assert "wants no SASL" in error.why


@pytest.mark.parametrize("listener", [Listener.SSL, Listener.SASL_SSL])
def test_a_listener_with_tls_is_recognized(listener: Listener, cluster: SecureCluster) -> None:
    """It answers plaintext with an alert."""
    error = refusal(cluster.address(listener), ALICE["PLAIN"])
    assert error.layer is Layer.TLS
    assert "speaks TLS" in error.why


@pytest.mark.parametrize("name", ["PLAIN", "SCRAM-SHA-512"])
def test_a_session_is_renewed_while_requests_are_under_way(
    name: str, cluster: SecureCluster
) -> None:
    """Every request is answered, in order, over three sessions of one connection."""
    # A broker ends the session of a client that a busy machine keeps from renewing it in time.
    measure_again(lambda: renew_twice(name, cluster), 3, ConnectError)


def renew_twice(name: str, cluster: SecureCluster) -> None:
    """Send requests until two sessions were renewed, and compare what came with them."""
    sent: list[int] = []
    received: list[NetworkReceive] = []
    with SaslClient(cluster.address(Listener.REAUTH), ALICE[name]) as client:
        while client.authentications < 3 or len(received) < len(sent):
            channel = client.selector.channel(CHANNEL)
            assert channel is not None
            has_room = len(sent) - len(received) < 5 and not channel.has_send
            if has_room and client.authentications < 3:
                sent.append(client.send(MetadataRequest(), 12))
            client.poll()
            received += client.selector.completed_receives
    assert [int.from_bytes(each.payload[:4]) for each in received] == sent
    renewals = [each for each in client.exchanges if each.api_key == HANDSHAKE][1:]
    assert len(renewals) == 2
    assert any(came_between(receive, renewal) for receive in received for renewal in renewals)


def came_between(receive: NetworkReceive, exchange: SaslExchange) -> bool:
    """Return whether an answer came after the question of an exchange and before its answer."""
    assert receive.first_byte_ns is not None
    assert exchange.response is not None
    asked_ns, answered_ns = exchange.request.last_byte_ns, exchange.response.first_byte_ns
    return asked_ns < receive.first_byte_ns < answered_ns


def test_a_password_is_not_normalized(cluster: SecureCluster) -> None:
    """A broker stores what was typed: a long s is not an s, a soft hyphen is there."""
    password = "a\u017fb\u00adc\N{HERB} =,"
    salt = os.urandom(16)
    wanted = ScramCredentialUpsertion(
        name="d=a,n",
        mechanism=SHA_512,
        iterations=ITERATIONS,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS),
    )
    request = AlterUserScramCredentialsRequest(upsertions=[wanted])
    with BrokerSocket(cluster.address(Listener.PLAINTEXT)) as broker:
        result = broker.ask(request, 0, AlterUserScramCredentialsResponse).results[0]
    assert error_name(result.error_code) == "NONE"
    when_known(cluster, Scram("SCRAM-SHA-512", "d=a,n", password))


def when_known(cluster: SecureCluster, mechanism: SaslMechanism) -> None:
    """Authenticate as somebody whom the broker gets to know at this moment."""
    refusals: list[str] = []
    while len(refusals) < 50:
        try:
            SaslClient(cluster.address(Listener.SASL_PLAINTEXT), mechanism).selector.close()
        except AuthenticationError as error:
            refusals.append(error.why)
        else:
            return
    pytest.fail(refusals[-1])


@pytest.mark.parametrize("name", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_delegation_token_stands_for_its_owner(name: str, cluster: SecureCluster) -> None:
    """Its id and HMAC take the places of user name and password."""
    with SaslClient(cluster.address(Listener.SASL_PLAINTEXT), ALICE["PLAIN"]) as client:
        request = CreateDelegationTokenRequest(max_lifetime_ms=60_000)
        token = client.ask(request, 2, CreateDelegationTokenResponse)
    assert error_name(token.error_code) == "NONE"
    word = b64encode(token.hmac).decode()
    when_known(cluster, Scram(name, token.token_id, word, is_delegation_token=True))


@pytest.mark.parametrize(
    ("user", "error"), [("alice", "NONE"), ("bob", "TOPIC_AUTHORIZATION_FAILED")]
)
@pytest.mark.parametrize("name", ALICE)
def test_whoever_authenticated_has_that_users_rights(
    name: str, user: str, error: str, cluster: SecureCluster
) -> None:
    """The user alice may do everything, bob nothing, by whichever mechanism they came."""
    topic = CreatableTopic(name=f"of-{user}", num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000, validate_only=True)
    mechanism = mechanisms(user, USERS[user])[name]
    with SaslClient(cluster.address(Listener.SASL_PLAINTEXT), mechanism) as client:
        result = client.ask(request, 5, CreateTopicsResponse).topics[0]
    assert error_name(result.error_code) == error
