"""A real Kafka with every kind of listener, users, certificates and an authorizer.

    with SecureCluster("4.3.1", folder) as cluster:
        cluster.address(Listener.SASL_SSL)     # "127.0.0.1:40005"; every node: `addresses`
        cluster.certificates.authority         # PEM file of the authority that the broker trusts
        USERS["alice"]                         # alice's password, for PLAIN and SCRAM

Tests share one for each Kafka version: the fixture `get_secure_cluster` of `conftest.py`.

    listener        asks for                                     principal
    PLAINTEXT       nothing                                      User:ANONYMOUS, a super user
    SSL             nothing                                      User:ANONYMOUS
    MTLS            a certificate signed by the authority        User:CN=client
    SASL_PLAINTEXT  any of MECHANISMS                            the user
    SASL_SSL        any of MECHANISMS, over TLS                  the user
    SCRAM_ONLY      SCRAM-SHA-512                                the user
    REAUTH          any of MECHANISMS, again every REAUTH_MS     the user
    EXPIRED         as SSL, its certificate expired yesterday
    OTHER_HOST      as SSL, its certificate is for OTHER_HOST

alice is a super user; bob, carol, `User:CN=client` and everybody else may do nothing until an
ACL allows it (CreateAcls, by PLAINTEXT). OAUTHBEARER takes unsecured JWTs, whoever `sub` is.
Delegation tokens are issued to whoever came by SASL with another proof than such a token.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from real_kafka.kafka_cluster import KafkaCluster, Ports, free_port_numbers
from secure_ends.certificate_files import PASSWORD, make_certificates

USERS: Final = {"alice": "alice-secret", "bob": "bob-secret", "carol": "carol-secret"}
"""Passwords by user, the same for PLAIN and SCRAM."""

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
REAUTH_MS: Final = 4_000
"""What is left of it at 85 %, when `SaslClient` begins again, is enough on a busy machine."""


class Listener(StrEnum):
    """A listener by its name in the broker's configuration."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    MTLS = "MTLS"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"
    SCRAM_ONLY = "SCRAM_ONLY"
    REAUTH = "REAUTH"
    EXPIRED = "EXPIRED"
    OTHER_HOST = "OTHER_HOST"


_PROTOCOLS: Final = {
    Listener.PLAINTEXT: "PLAINTEXT",
    Listener.SSL: "SSL",
    Listener.MTLS: "SSL",
    Listener.SASL_PLAINTEXT: "SASL_PLAINTEXT",
    Listener.SASL_SSL: "SASL_SSL",
    Listener.SCRAM_ONLY: "SASL_PLAINTEXT",
    Listener.REAUTH: "SASL_PLAINTEXT",
    Listener.EXPIRED: "SSL",
    Listener.OTHER_HOST: "SSL",
}
_SASL: Final = [each for each, protocol in _PROTOCOLS.items() if protocol.startswith("SASL")]
_SECURITY: Final = "org.apache.kafka.common.security"
_LOGIN_MODULES: Final = {
    "plain": f"{_SECURITY}.plain.PlainLoginModule",
    "scram-sha-256": f"{_SECURITY}.scram.ScramLoginModule",
    "scram-sha-512": f"{_SECURITY}.scram.ScramLoginModule",
    "oauthbearer": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule",
}

_QUICK_GROUPS: Final = {
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.assignment.interval.ms": "0",
}
"""Groups of the consumer protocol notice soon that a member is dead."""


class SecureCluster(KafkaCluster):
    """Real Kafka nodes with every kind of listener, which run while the `with` block does.

    Attributes:
        certificates: the files with certificates and keys.
    """

    def __init__(
        self,
        version: str,
        folder: Path,
        *,
        nodes: int = 1,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare, but do not start, a cluster.

        Args:
            version: Kafka's version.
            folder: an existing folder for certificates, configurations, data and logs.
            nodes: how many.
            properties: added to each node's `server.properties`.
        """
        numbers = iter(free_port_numbers(nodes * (len(Listener) + 1)))
        self._listener_ports = [dict(zip(Listener, numbers, strict=False)) for _ in range(nodes)]
        ports = [
            Ports(each[Listener.PLAINTEXT], each[Listener.SASL_PLAINTEXT], next(numbers))
            for each in self._listener_ports
        ]
        super().__init__(version, folder, ports=ports, properties=properties)
        self.certificates = make_certificates(folder)

    def address(self, listener: Listener) -> str:
        """Return where the first node listens."""
        return self.addresses(listener)[0]

    def addresses(self, listener: Listener) -> list[str]:
        """Return where each node listens."""
        return [f"127.0.0.1:{ports[listener]}" for ports in self._listener_ports]

    def format_arguments(self) -> list[str]:
        """Return what has `StorageTool format` create the users for SCRAM."""
        return [
            argument
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
            for name, word in USERS.items()
            for argument in ("--add-scram", f"{mechanism}=[name={name},password={word}]")
        ]

    def node_properties(self, number: int) -> dict[str, str]:
        """Return the `server.properties` of one node."""
        ports = self._listener_ports[number - 1].items()
        clients = ",".join(f"{listener}://127.0.0.1:{port}" for listener, port in ports)
        controller = self.ports[number - 1].controller
        protocols = [f"{name}:{protocol}" for name, protocol in _PROTOCOLS.items()]
        return {
            **super().node_properties(number),
            **_QUICK_GROUPS,
            "listeners": f"{clients},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": clients,
            "listener.security.protocol.map": ",".join([*protocols, "CONTROLLER:PLAINTEXT"]),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:alice",
            "delegation.token.secret.key": "signs-the-tokens",
            **self._tls_properties(),
            **_sasl_properties(),
            **self._properties,
        }

    def _tls_properties(self) -> dict[str, str]:
        """Return whose certificate each listener shows, and whom it trusts."""
        stores = {
            Listener.EXPIRED: self.certificates.expired_store,
            Listener.OTHER_HOST: self.certificates.other_host_store,
        }
        properties = {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(self.certificates.broker_store),
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(self.certificates.truststore),
            "ssl.truststore.password": PASSWORD,
            f"{_prefix(Listener.MTLS)}.ssl.client.auth": "required",
        }
        for listener, store in stores.items():
            properties[f"{_prefix(listener)}.ssl.keystore.location"] = str(store)
        return properties


def _prefix(listener: Listener) -> str:
    return f"listener.name.{listener.lower()}"


def _sasl_properties() -> dict[str, str]:
    """Return the mechanisms of each listener and how long an authentication lasts."""
    properties = {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        f"{_prefix(Listener.SCRAM_ONLY)}.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        f"{_prefix(Listener.REAUTH)}.connections.max.reauth.ms": str(REAUTH_MS),
    }
    passwords = " ".join(f'user_{name}="{word}"' for name, word in USERS.items())
    options = {"plain": passwords, "oauthbearer": 'unsecuredLoginStringClaim_sub="broker"'}
    for listener in _SASL:
        for mechanism, module in _LOGIN_MODULES.items():
            key = f"{_prefix(listener)}.{mechanism}.sasl.jaas.config"
            properties[key] = f"{module} required {options.get(mechanism, '')};"
    return properties
