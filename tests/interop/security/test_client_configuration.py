"""Real brokers are reached with the configuration files that people have."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import configured_client
from kdiag.clock import SystemClock
from kdiag.errors import AuthenticationError, ConfigError, ConnectError, Layer
from kdiag.exchange.model import Exchange
from real_kafka.releases import USUAL
from real_kafka.secure_cluster import USERS, Listener, SecureCluster
from secure_ends.certificate_files import PASSWORD

pytestmark = pytest.mark.soak

SECURITY = "org.apache.kafka.common.security"
ALICE = f'username="alice" password="{USERS["alice"]}";'
ALICES_TOKEN = 'unsecuredLoginStringClaim_sub="alice";'
CLOCK = SystemClock()


@pytest.fixture
def cluster(get_secure_cluster: Callable[[str], SecureCluster]) -> SecureCluster:
    """Return a running broker."""
    return get_secure_cluster(USUAL)


def connect(file: Path, text: str) -> list[Exchange]:
    """Write a configuration, connect with it, and return what crossed the wire."""
    file.write_text(text)
    exchanges: list[Exchange] = []
    config = load_config(ConfigSources(file=str(file)))
    with configured_client(config, CLOCK, exchanges.append) as client:
        client.connect(CLOCK.monotonic_ns() + 20_000_000_000)
        assert [each.node.port for each in client.brokers] == [config.bootstrap_servers[0].port]
    return exchanges


def java(cluster: SecureCluster, listener: Listener, **settings: str) -> str:
    """Return a client.properties for a listener; names have underscores."""
    properties = {
        "bootstrap.servers": cluster.address(listener),
        "ssl.truststore.location": str(cluster.certificates.truststore),
        "ssl.truststore.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        **{key.replace("_", "."): value for key, value in settings.items()},
    }
    return "".join(f"{key}={value}\n" for key, value in properties.items())


def test_a_plaintext_listener_needs_its_address_only(
    cluster: SecureCluster, tmp_path: Path
) -> None:
    """Nothing else is set."""
    text = f"bootstrap.servers={cluster.address(Listener.PLAINTEXT)}\n"
    assert len(connect(tmp_path / "client.properties", text)) >= 2


@pytest.mark.real
def test_java_configurations_work_as_they_are(cluster: SecureCluster, tmp_path: Path) -> None:
    """TLS with stores of Java's, and each mechanism by its login module."""
    file = tmp_path / "client.properties"
    scram = f"{SECURITY}.scram.ScramLoginModule required {ALICE}"

    connect(file, java(cluster, Listener.SSL, security_protocol="SSL"))
    connect(
        file,
        java(
            cluster,
            Listener.MTLS,
            security_protocol="ssl",
            ssl_keystore_location=str(cluster.certificates.client_store),
            ssl_keystore_password=PASSWORD,
            ssl_key_password=PASSWORD,
            ssl_keystore_type="PKCS12",
        ),
    )
    for mechanism, jaas in (
        ("PLAIN", f"{SECURITY}.plain.PlainLoginModule required {ALICE}"),
        ("SCRAM-SHA-256", scram),
        ("SCRAM-SHA-512", scram),
        ("OAUTHBEARER", f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required {ALICES_TOKEN}"),
    ):
        text = java(
            cluster,
            Listener.SASL_SSL,
            security_protocol="SASL_SSL",
            sasl_mechanism=mechanism,
            sasl_jaas_config=jaas,
        )
        exchanges = connect(file, text)
        assert {17, 18, 36, 3} <= {each.api_key for each in exchanges}


def test_a_jks_truststore_works_as_it_is(cluster: SecureCluster, tmp_path: Path) -> None:
    """Nobody has to convert it."""
    store = tmp_path / "trust.jks"
    command = ["keytool", "-importcert", "-noprompt", "-storetype", "JKS", "-alias", "authority"]
    files = ["-file", str(cluster.certificates.authority), "-keystore", str(store)]
    subprocess.run([*command, *files, "-storepass", PASSWORD], check=True, capture_output=True)
    settings = {"ssl_truststore_location": str(store), "ssl_truststore_type": "JKS"}

    text = java(cluster, Listener.SSL, security_protocol="SSL", **settings)

    assert connect(tmp_path / "client.properties", text)


@pytest.mark.real
def test_kcat_configurations_work_as_they_are(cluster: SecureCluster, tmp_path: Path) -> None:
    """PEM files and librdkafka's names."""
    certificates = cluster.certificates
    file = tmp_path / "kcat.conf"
    connect(
        file,
        f"metadata.broker.list={cluster.address(Listener.SASL_SSL)}\n"
        "security.protocol=sasl_ssl\n"
        "sasl.mechanisms=SCRAM-SHA-512\n"
        "sasl.username=alice\n"
        f"sasl.password={USERS['alice']}\n"
        f"ssl.ca.location={certificates.authority}\n",
    )
    connect(
        file,
        f"bootstrap.servers={cluster.address(Listener.MTLS)}\n"
        "security.protocol=ssl\n"
        f"ssl.ca.location={certificates.authority}\n"
        f"ssl.certificate.location={certificates.client}\n"
        f"ssl.key.location={certificates.client_encrypted}\n"
        f"ssl.key.password={PASSWORD}\n",
    )
    connect(
        file,
        f"bootstrap.servers={cluster.address(Listener.OTHER_HOST)}\n"
        "security.protocol=ssl\n"
        "enable.ssl.certificate.verification=false\n",
    )
    connect(
        file,
        f"bootstrap.servers={cluster.address(Listener.OTHER_HOST)}\n"
        "security.protocol=ssl\n"
        f"ssl.ca.location={certificates.authority}\n"
        "ssl.endpoint.identification.algorithm=none\n",
    )


@pytest.mark.real
def test_a_wrong_configuration_names_its_layer(cluster: SecureCluster, tmp_path: Path) -> None:
    """A password, an authority, a name, and the password of a store."""
    file = tmp_path / "client.properties"
    plain = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}
    wrong = f'{SECURITY}.plain.PlainLoginModule required username="alice" password="wrong";'

    with pytest.raises(AuthenticationError) as refused:
        connect(file, java(cluster, Listener.SASL_SSL, **plain, sasl_jaas_config=wrong))
    assert refused.value.layer is Layer.SASL

    text = f"bootstrap.servers={cluster.address(Listener.SSL)}\nsecurity.protocol=SSL\n"
    with pytest.raises(ConnectError) as untrusted:
        connect(file, text)
    assert untrusted.value.layer is Layer.TLS

    with pytest.raises(ConnectError) as elsewhere:
        connect(file, java(cluster, Listener.OTHER_HOST, security_protocol="SSL"))
    assert elsewhere.value.layer is Layer.TLS

    settings = {"security_protocol": "SSL", "ssl_truststore_password": "opens-nothing"}
    with pytest.raises(ConfigError) as closed:
        connect(file, java(cluster, Listener.SSL, **settings))
    assert closed.value.origin.startswith(f"{file}:")
    assert "opens-nothing" not in str(closed.value)
