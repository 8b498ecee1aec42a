"""TLS settings: whom to trust, and which certificate to show.

Source: Kafka's `SslConfigs`, KIP-651 (PEM); librdkafka's `ssl.*`.
"""

from typing import NamedTuple

from kdiag.client.config.values import ConfigValues, Secret


class TlsConfig(NamedTuple):
    """How a client encrypts; the fields are those of `TlsSettings`, and no file is read yet.

    Attributes:
        truststore_location: a file with the certificates to trust, or, as PEM, a folder; None for
            those that the system trusts.
        truststore_type: `JKS`, `PKCS12` or `PEM`; None if it was not given.
        truststore_password: opens it.
        truststore_certificates: the certificates themselves, as PEM.
        keystore_location: a file with the client's key and certificates; None for no certificate.
        keystore_type: as that of the truststore.
        keystore_password: opens it.
        keystore_certificate_chain: the certificates themselves, as PEM.
        keystore_key: the key itself, as PEM.
        certificate_location: a PEM file with the client's certificates alone.
        key_location: a PEM file with the client's key alone.
        key_password: opens the key.
        verifies_certificate: whether the broker must prove who it is.
        verifies_hostname: whether its certificate must be for the host connected to.
        enabled_protocols: such as `TLSv1.3`.
        cipher_suites: by Java's or OpenSSL's names; empty for those of the TLS library.
    """

    truststore_location: str | None
    truststore_type: str | None
    truststore_password: Secret | None
    truststore_certificates: Secret | None
    keystore_location: str | None
    keystore_type: str | None
    keystore_password: Secret | None
    keystore_certificate_chain: Secret | None
    keystore_key: Secret | None
    certificate_location: str | None
    key_location: str | None
    key_password: Secret | None
    verifies_certificate: bool
    verifies_hostname: bool
    enabled_protocols: tuple[str, ...]
    cipher_suites: tuple[str, ...]


def tls_config(values: ConfigValues) -> TlsConfig:
    """Return the TLS settings.

    Raises:
        ConfigError: if a value is wrong.
    """
    suites = values.words("ssl.cipher.suites")
    return TlsConfig(
        truststore_location=values.path("ssl.truststore.location"),
        truststore_type=_type(values, "ssl.truststore.type"),
        truststore_password=values.secret("ssl.truststore.password"),
        truststore_certificates=values.secret("ssl.truststore.certificates"),
        keystore_location=values.path("ssl.keystore.location"),
        keystore_type=_type(values, "ssl.keystore.type"),
        keystore_password=values.secret("ssl.keystore.password"),
        keystore_certificate_chain=values.secret("ssl.keystore.certificate.chain"),
        keystore_key=values.secret("ssl.keystore.key"),
        certificate_location=values.path("ssl.certificate.location"),
        key_location=values.path("ssl.key.location"),
        key_password=values.secret("ssl.key.password"),
        verifies_certificate=values.flag("enable.ssl.certificate.verification"),
        verifies_hostname=values.choice("ssl.endpoint.identification.algorithm") == "https",
        enabled_protocols=values.words("ssl.enabled.protocols"),
        cipher_suites=tuple(suite for each in suites for suite in each.split(":")),
    )


def _type(values: ConfigValues, key: str) -> str | None:
    return None if values.setting(key) is None else values.choice(key)
