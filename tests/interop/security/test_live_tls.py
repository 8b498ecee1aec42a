"""What real brokers' TLS listeners show to a client, and how they refuse it."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import timed_client
from kdiag.clock import SystemClock
from kdiag.errors import AuthenticationError, ConnectError
from kdiag.net.timed_channel import HandshakeFacts
from real_kafka.releases import VERSIONS
from real_kafka.secure_cluster import Listener, SecureCluster
from secure_ends.certificate_files import OTHER_HOST, PASSWORD

TIMEOUT_NS = 20_000_000_000
FIRST_NODE = "-1"
Settings = dict[str, str]


class Seen(NamedTuple):
    """What a client saw of a listener, and why it could not use it."""

    tls: HandshakeFacts | None
    error: ConnectError | None


@pytest.fixture(scope="module", params=VERSIONS)
def cluster(
    request: pytest.FixtureRequest, get_secure_cluster: Callable[[str], SecureCluster]
) -> SecureCluster:
    """Return a cluster of each version."""
    return get_secure_cluster(request.param)


@pytest.fixture(params=["TLSv1.2", "TLSv1.3"])
def trusting(request: pytest.FixtureRequest, cluster: SecureCluster) -> Settings:
    """Return the settings of a client without a certificate, for each version of TLS."""
    return {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(cluster.certificates.truststore),
        "ssl.truststore.password": PASSWORD,
        "ssl.enabled.protocols": request.param,
    }


def look_at(cluster: SecureCluster, listener: Listener, settings: Settings) -> Seen:
    """Connect to a listener as every command does."""
    settings = {"bootstrap.servers": cluster.address(listener), **settings}
    config = load_config(ConfigSources(properties=[f"{k}={v}" for k, v in settings.items()]))
    clock = SystemClock()
    client, channels = timed_client(config, clock)
    error = None
    with client:
        try:
            client.connect(clock.monotonic_ns() + TIMEOUT_NS)
        except ConnectError as failure:
            error = failure
    return Seen(channels.progress[FIRST_NODE].tls, error)


@pytest.mark.soak
def test_a_listener_shows_its_certificate(cluster: SecureCluster, trusting: Settings) -> None:
    """The one that it was given, in the version that was asked for."""
    seen = look_at(cluster, Listener.SSL, trusting)

    assert seen.error is None
    assert seen.tls is not None
    assert seen.tls.version == trusting["ssl.enabled.protocols"]
    assert seen.tls.certificates[0].host_names == ("localhost", "127.0.0.1", "::1")


@pytest.mark.real
@pytest.mark.soak
def test_a_client_is_let_in_with_a_certificate_only(
    cluster: SecureCluster, trusting: Settings
) -> None:
    """Without one it is refused, and told so in both versions of TLS."""
    store = {
        "ssl.keystore.location": str(cluster.certificates.client_store),
        "ssl.keystore.password": PASSWORD,
    }

    assert look_at(cluster, Listener.MTLS, trusting | store).error is None

    error = look_at(cluster, Listener.MTLS, trusting).error
    assert isinstance(error, AuthenticationError)
    assert "asks for a client certificate and got none" in error.why
    assert error.fix.startswith("Set ssl.keystore.location")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("listener", "why"),
    [
        (Listener.EXPIRED, "the certificate of the broker has expired on "),
        (
            Listener.OTHER_HOST,
            f"the certificate of the broker is not for 127.0.0.1; it is for {OTHER_HOST}",
        ),
    ],
)
def test_a_bad_certificate_is_told(
    listener: Listener, why: str, cluster: SecureCluster, trusting: Settings
) -> None:
    """And it is shown, with that of its issuer."""
    seen = look_at(cluster, listener, trusting)

    assert isinstance(seen.error, AuthenticationError)
    assert seen.error.why.startswith(why)
    assert seen.tls is not None
    assert len(seen.tls.certificates) == 2


@pytest.mark.real
@pytest.mark.soak
def test_an_unknown_authority_is_told(cluster: SecureCluster, trusting: Settings) -> None:
    """With its name, so that one can ask for its certificate."""
    del trusting["ssl.truststore.location"], trusting["ssl.truststore.password"]
    seen = look_at(cluster, Listener.SSL, trusting)

    assert seen.error is not None
    assert "is signed by CN=kdiag test authority, who is not trusted" in seen.error.why


@pytest.mark.soak
def test_a_plaintext_listener_is_told(cluster: SecureCluster, trusting: Settings) -> None:
    """Kafka closes such a connection without a word."""
    seen = look_at(cluster, Listener.PLAINTEXT, trusting)

    assert seen.error is not None
    assert seen.error.why.endswith("as a listener without TLS does")
