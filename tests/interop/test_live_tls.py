"""What a real broker's TLS listeners show, and how it refuses."""

import socket
from collections.abc import Callable

import pytest

from kdiag.clock import SystemClock
from kdiag.errors import AuthenticationError
from kdiag.net.address import Address
from kdiag.net.tls.context import TlsSettings
from kdiag.net.tls_inspect import Inspection, inspect_tls
from real_kafka.kafka_jars import TOOLS_VERSIONS
from real_kafka.secure_cluster import Listener, SecureCluster
from secure_ends.certificate_files import OTHER_HOST, PASSWORD

TIMEOUT_NS = 20_000_000_000


@pytest.fixture(scope="module", params=TOOLS_VERSIONS)
def cluster(
    request: pytest.FixtureRequest, get_secure_cluster: Callable[[str], SecureCluster]
) -> SecureCluster:
    """Return a cluster of each version."""
    return get_secure_cluster(request.param)


@pytest.fixture(params=["TLSv1.2", "TLSv1.3"])
def trusting(request: pytest.FixtureRequest, cluster: SecureCluster) -> TlsSettings:
    """Return the settings of a client without a certificate, for each version of TLS."""
    return TlsSettings(
        truststore_location=str(cluster.certificates.truststore),
        truststore_password=PASSWORD,
        enabled_protocols=(request.param,),
    )


def inspect(cluster: SecureCluster, listener: Listener, settings: TlsSettings) -> Inspection:
    """Inspect a listener."""
    port = int(cluster.address(listener).rpartition(":")[2])
    address = Address("localhost", port, "127.0.0.1", socket.AF_INET)
    return inspect_tls(address, settings, SystemClock(), TIMEOUT_NS)


@pytest.mark.java
def test_a_listener_shows_its_certificate(cluster: SecureCluster, trusting: TlsSettings) -> None:
    """The one that it was given, in the version that was asked for."""
    seen = inspect(cluster, Listener.SSL, trusting)

    assert (seen.error, seen.version) == (None, trusting.enabled_protocols[0])
    assert seen.certificates[0].host_names == ("localhost", "127.0.0.1", "::1")


@pytest.mark.java
def test_a_client_is_let_in_with_a_certificate_only(
    cluster: SecureCluster, trusting: TlsSettings
) -> None:
    """Without one it is refused, and told so in both versions of TLS."""
    store = str(cluster.certificates.client_store)
    known = trusting._replace(keystore_location=store, keystore_password=PASSWORD)

    assert inspect(cluster, Listener.MTLS, known).error is None

    error = inspect(cluster, Listener.MTLS, trusting).error
    assert isinstance(error, AuthenticationError)
    assert "asks for a client certificate and got none" in error.why
    assert error.fix.startswith("Set ssl.keystore.location")


@pytest.mark.java
@pytest.mark.parametrize(
    ("listener", "why"),
    [
        (Listener.EXPIRED, "the certificate of the broker has expired on "),
        (
            Listener.OTHER_HOST,
            f"the certificate of the broker is not for localhost; it is for {OTHER_HOST}",
        ),
    ],
)
def test_a_bad_certificate_is_told(
    listener: Listener, why: str, cluster: SecureCluster, trusting: TlsSettings
) -> None:
    """And all the rest is known nevertheless."""
    seen = inspect(cluster, listener, trusting)

    assert isinstance(seen.error, AuthenticationError)
    assert seen.error.why.startswith(why)
    assert (seen.version, len(seen.certificates)) == (trusting.enabled_protocols[0], 2)


@pytest.mark.java
def test_an_unknown_authority_is_told(cluster: SecureCluster, trusting: TlsSettings) -> None:
    """With its name, so that one can ask for its certificate."""
    seen = inspect(cluster, Listener.SSL, trusting._replace(truststore_location=None))

    assert seen.error is not None
    assert "is signed by CN=kdiag test authority, who is not trusted" in seen.error.why


@pytest.mark.java
def test_a_plaintext_listener_is_told(cluster: SecureCluster, trusting: TlsSettings) -> None:
    """Kafka closes such a connection without a word."""
    seen = inspect(cluster, Listener.PLAINTEXT, trusting)

    assert seen.error is not None
    assert seen.error.why.endswith("as a listener without TLS does")
