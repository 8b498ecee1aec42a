import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdiag.client.channel_builder import channel_maker
from kdiag.client.config.load import ClientConfig, ConfigSources, load_config
from kdiag.clock import ManualClock
from kdiag.errors import ConfigError
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel
from kdiag.net.sasl.authenticator import SaslAuthenticator
from kdiag.net.tls.transport import TlsTransport
from kdiag.net.transport import PlaintextTransport
from secure_ends.certificate_files import make_certificates
from tiers.cases import for_each

PASSWORD = ("sasl.username=alice", "sasl.password=s3cret")
SUB = "unsecuredLoginStringClaim_sub"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def config(*properties: str) -> ClientConfig:
    """Return the configuration that these properties make."""
    return load_config(ConfigSources(properties=properties))


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    """Yield one end of a connection."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0)
        yield ours


def channel(sock: socket.socket, *properties: str) -> Channel:
    """Return a channel as a configuration wants it."""
    make_channel = channel_maker(config(*properties), ManualClock())
    return make_channel("1", sock, "kafka1:9093", "kafka1")


def test_plaintext_needs_neither_handshake_nor_login(sock: socket.socket) -> None:
    """The transport and the authenticator are the plain ones."""
    made = channel(sock)

    assert isinstance(made.transport, PlaintextTransport)
    assert isinstance(made.authenticator, NoAuthenticator)
    assert (made.id, made.peer) == ("1", "kafka1:9093")


def test_tls_trusts_whom_the_configuration_names(sock: socket.socket, tmp_path: Path) -> None:
    """In Java's words or librdkafka's."""
    files = make_certificates(tmp_path)

    for properties in (
        (f"ssl.ca.location={files.authority}",),
        ("ssl.truststore.type=PEM", f"ssl.truststore.location={files.authority}"),
        (f"ssl.truststore.certificates={files.authority.read_text()}",),
    ):
        made = channel(sock, "security.protocol=SSL", *properties)
        assert isinstance(made.transport, TlsTransport)
        assert isinstance(made.authenticator, NoAuthenticator)


def test_a_store_that_cannot_be_read_is_a_configuration_error(tmp_path: Path) -> None:
    """It names the setting and where it was said."""
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\nssl.truststore.location=/nowhere/trust.jks\n")
    found = load_config(ConfigSources(file=str(file)))

    with pytest.raises(ConfigError) as error:
        channel_maker(found, ManualClock())
    assert (error.value.key, error.value.origin) == ("ssl.truststore.location", f"{file}:2")


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize(
    ("properties", "name"),
    [
        (("sasl.mechanism=PLAIN", *PASSWORD), "<Plain as 'alice'>"),
        (("sasl.mechanism=SCRAM-SHA-512", *PASSWORD), "<Scram SCRAM-SHA-512 as 'alice'>"),
        (("sasl.mechanism=SCRAM-SHA-256", *PASSWORD), "<Scram SCRAM-SHA-256 as 'alice'>"),
        (
            ("sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token=abc"),
            "<OauthBearer with <LiteralToken>>",
        ),
        (
            ("sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.file=/run/token"),
            "<OauthBearer with <FileToken /run/token>>",
        ),
        (
            ("sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.command=get-token 'a b'"),
            "<OauthBearer with <CommandToken get-token>>",
        ),
        (
            (
                "sasl.mechanism=OAUTHBEARER",
                f"sasl.jaas.config={OAUTH} required unsecuredLoginStringClaim_sub=bob;",
            ),
            "<OauthBearer with <UnsecuredToken {'sub': 'bob'}>>",
        ),
        (
            ("sasl.mechanism=AWS_MSK_IAM", "sasl.aws.profile=dev"),
            "<AwsMskIam of <AwsSigner with profile 'dev', not looked for yet>>",
        ),
    ],
)
def test_sasl_logs_in_by_the_mechanism_that_is_configured(
    sock: socket.socket, protocol: str, properties: tuple[str, ...], name: str
) -> None:
    """Over either transport."""
    made = channel(sock, f"security.protocol={protocol}", *properties)

    assert isinstance(made.authenticator, SaslAuthenticator)
    assert repr(made.authenticator) == f"<SaslAuthenticator of 1 with {name}>"
    assert isinstance(made.transport, TlsTransport) == (protocol == "SASL_SSL")


def test_all_channels_share_one_mechanism(sock: socket.socket) -> None:
    """A command for tokens runs once, not for each broker."""
    make_channel = channel_maker(
        config("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", *PASSWORD), ManualClock()
    )
    first, second = (make_channel(each, sock, "a:1", "a").authenticator for each in "12")

    assert isinstance(first, SaslAuthenticator)
    assert isinstance(second, SaslAuthenticator)
    assert first is not second
    assert first._mechanism is second._mechanism


@pytest.mark.thorough
@for_each(
    ("properties", "key", "why"),
    [
        (
            [f"sasl.jaas.config={OAUTH} required unsecuredLoginStringClaim_other=bob;"],
            "sasl.jaas.config",
            "unsecuredLoginStringClaim_sub is missing",
        ),
        (
            ["sasl.oauthbearer.token.command=get 'token"],
            "sasl.oauthbearer.token.command",
            "No closing quotation",
        ),
        (["sasl.oauthbearer.token.command= "], "sasl.oauthbearer.token.command", "a program"),
        (
            [f"sasl.jaas.config={OAUTH} required {SUB}=a extension_auth=x;"],
            "sasl.jaas.config",
            "SASL extension 'auth'",
        ),
    ],
)
def test_tokens_that_cannot_be_made_are_a_configuration_error(
    properties: list[str], key: str, why: str
) -> None:
    """They are told before anything is connected."""
    found = config("security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER", *properties)

    with pytest.raises(ConfigError, match=why) as error:
        channel_maker(found, ManualClock())
    assert (error.value.key, error.value.origin) == (key, "-X")


@pytest.mark.thorough
def test_plaintext_imports_neither_tls_nor_sasl() -> None:
    """A cold start pays only for what it uses."""
    program = (
        "import sys\n"
        "from kdiag.client.channel_builder import channel_maker\n"
        "from kdiag.client.config.load import ConfigSources, load_config\n"
        "from kdiag.clock import SystemClock\n"
        "channel_maker(load_config(ConfigSources()), SystemClock())\n"
        "print(*sys.modules)\n"
    )
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert "kdiag.net.channel" in loaded
    for module in (
        "ssl",
        "kdiag.net.tls.transport",
        "kdiag.net.sasl.authenticator",
        "javaproperties",
        "tomllib",
    ):
        assert module not in loaded
