"""TLS contexts: OpenSSL, configured by Kafka's `ssl.` settings.

    client_context(settings)    server_context(settings)
        versions and suites      ssl.enabled.protocols, ssl.cipher.suites
        whom to trust            ssl.truststore.*
        who we are               ssl.keystore.*, ssl.key.*

Where OpenSSL and Java differ, it is configured like Java: every certificate in the trust store is
trusted, not only roots, and suites may have Java's names, which follow a rule:

    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256    ECDHE-RSA-AES128-GCM-SHA256

Two differences remain: OpenSSL always offers all suites of TLS 1.3, and TLSv1.1 and older, which
both have turned off, are left out of `ssl.enabled.protocols`.

`server_context` is for the listeners of kdiag's lab.

Source: Kafka's `SslConfigs`, `DefaultSslEngineFactory`; KIP-651 (PEM).
"""

import os
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from kdiag.errors import ConfigError, DecodeError
from kdiag.net.tls.key_store import (
    PEM,
    TYPES,
    Identity,
    read_identity,
    read_pem_identity,
    read_trusted,
)

_MAX_STORE_BYTES: Final = 16 << 20
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_OLD_VERSIONS: Final = frozenset(("SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1"))
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_JAVA_PREFIXES: Final = ("TLS_", "SSL_")
_WITH: Final = "_WITH_"
_OPEN_FILES: Final = Path("/proc/self/fd")


class TlsSettings(NamedTuple):
    """Kafka's settings for TLS; the field `keystore_key` is `ssl.keystore.key`, and so on.

    Three are librdkafka's: `certificate_location` and `key_location`, and `verifies_certificate`,
    which is `enable.ssl.certificate.verification`.

    Attributes:
        truststore_location: a file with the certificates to trust; without it and without
            `truststore_certificates` those are trusted that the operating system trusts.
        truststore_type: `JKS`, `PKCS12` or `PEM`; None lets the file decide.
        truststore_password: for the file.
        truststore_certificates: the certificates themselves, as PEM.
        keystore_location: a file with our key and certificates.
        keystore_type: as `truststore_type`.
        keystore_password: for the file.
        keystore_certificate_chain: our certificates themselves, as PEM, our own first.
        keystore_key: our key itself, as PEM.
        certificate_location: a PEM file with our certificates alone.
        key_location: a PEM file with our key alone.
        key_password: for the key.
        cipher_suites: the suites to offer, by Java's or OpenSSL's names; empty is OpenSSL's choice.
        enabled_protocols: the versions to offer.
        client_auth: whether a server wants a client's certificate: `none`, `requested`, `required`.
        verifies_certificate: whether the server must prove who it is.
        verifies_hostname: whether its certificate must be for the host connected to
            (`ssl.endpoint.identification.algorithm`).
        origins: setting -> where it came from, for errors.
    """

    truststore_location: str | None = None
    truststore_type: str | None = None
    truststore_password: str | None = None
    truststore_certificates: str | None = None
    keystore_location: str | None = None
    keystore_type: str | None = None
    keystore_password: str | None = None
    keystore_certificate_chain: str | None = None
    keystore_key: str | None = None
    certificate_location: str | None = None
    key_location: str | None = None
    key_password: str | None = None
    cipher_suites: tuple[str, ...] = ()
    enabled_protocols: tuple[str, ...] = tuple(_VERSIONS)
    client_auth: str = "none"
    verifies_certificate: bool = True
    verifies_hostname: bool = True
    origins: Mapping[str, str] = MappingProxyType({})

    def __repr__(self) -> str:
        own = self.keystore_location or self.certificate_location
        return f"<TlsSettings: trusts {self.truststore_location}, is {own}>"

    def error(self, field: str, why: str) -> ConfigError:
        """Return the error about a setting."""
        key = f"ssl.{field.replace('_', '.')}"
        return ConfigError(key, self.origins.get(key, "TLS settings"), why)


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return a context for connections to brokers.

    Raises:
        ConfigError: if a setting or a store cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _set_versions(context, settings)
    context.check_hostname = settings.verifies_certificate and settings.verifies_hostname
    if settings.verifies_certificate:
        _trust(context, settings)
    else:
        context.verify_mode = ssl.CERT_NONE
    identity = _identity(settings)
    if identity is not None:
        _prove(context, settings, identity)
    return context


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return a context for a listener.

    Raises:
        ConfigError: if a setting or a store cannot be used, or there is no key store.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_versions(context, settings)
    if settings.client_auth not in _CLIENT_AUTH:
        why = f"{settings.client_auth!r} is none of {', '.join(_CLIENT_AUTH)}"
        raise settings.error("client_auth", why)
    context.verify_mode = _CLIENT_AUTH[settings.client_auth]
    if context.verify_mode != ssl.CERT_NONE:
        _trust(context, settings)
    identity = _identity(settings)
    if identity is None:
        raise settings.error("keystore_location", "a TLS listener needs a key store")
    _prove(context, settings, identity)
    return context


def _set_versions(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Set the versions and cipher suites to choose from."""
    unknown = set(settings.enabled_protocols) - set(_VERSIONS) - _OLD_VERSIONS
    if unknown:
        why = f"{', '.join(sorted(unknown))} is not known; TLSv1.2 and TLSv1.3 are"
        raise settings.error("enabled_protocols", why)
    enabled = {_VERSIONS[name] for name in settings.enabled_protocols if name in _VERSIONS}
    enabled &= _versions_of(settings.cipher_suites)
    if not enabled:
        why = "no version is left that is safe to speak and has a suite in ssl.cipher.suites"
        raise settings.error("enabled_protocols", why)
    context.minimum_version, context.maximum_version = min(enabled), max(enabled)
    before_tls13 = [openssl_name(name) for name in settings.cipher_suites]
    before_tls13 = [name for name in before_tls13 if not is_tls13_suite(name)]
    if before_tls13:
        try:
            context.set_ciphers(":".join(before_tls13))
        except ssl.SSLError:
            why = f"OpenSSL knows none of {', '.join(before_tls13)}"
            raise settings.error("cipher_suites", why) from None


def _versions_of(suites: tuple[str, ...]) -> set[ssl.TLSVersion]:
    """Return the versions that have any of the suites; OpenSSL's names count for all versions."""
    if not all(map(is_java_name, suites)) or not suites:
        return set(_VERSIONS.values())
    return {
        ssl.TLSVersion.TLSv1_3 if is_tls13_suite(name) else ssl.TLSVersion.TLSv1_2
        for name in suites
    }


def is_tls13_suite(name: str) -> bool:
    """Return whether a suite is one of TLS 1.3, which names no key exchange."""
    return name.startswith("TLS_") and _WITH not in name


def is_java_name(name: str) -> bool:
    """Return whether a name is Java's rather than OpenSSL's."""
    return name.startswith(_JAVA_PREFIXES)


def openssl_name(name: str) -> str:
    """Return OpenSSL's name of a suite before TLS 1.3; a name that is not Java's stays as it is."""
    if not is_java_name(name) or _WITH not in name:
        return name
    exchange, cipher = name[len(_JAVA_PREFIXES[0]) :].split(_WITH, 1)
    cipher = re.sub(r"_CBC(?=_)|(?<=POLY1305)_SHA256$", "", cipher)
    cipher = re.sub(r"^(AES|CAMELLIA|ARIA)_(?=\d)", r"\1", cipher)
    parts = [] if exchange == "RSA" else [exchange]
    return "-".join([*parts, cipher]).replace("_", "-")


def _trust(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Set whom to trust."""
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    location, text = settings.truststore_location, settings.truststore_certificates
    if location and text:
        raise settings.error("truststore_certificates", "ssl.truststore.location is set, too")
    if text:
        data, field, kind = text.encode(), "truststore_certificates", PEM
    elif location:
        if Path(location).is_dir():
            context.load_verify_locations(capath=location)
            return
        data, field = _read(settings, "truststore_location"), "truststore_location"
        kind = _type(settings, "truststore_type")
    else:
        context.load_default_certs()
        return
    with _blaming(settings, field):
        trusted = read_trusted(data, kind, settings.truststore_password)
        context.load_verify_locations(cadata=b"".join(trusted))


def _identity(settings: TlsSettings) -> Identity | None:
    """Return our key and certificates; None if the settings name none."""
    location, chain = settings.keystore_location, settings.keystore_certificate_chain
    if location and chain:
        raise settings.error("keystore_certificate_chain", "ssl.keystore.location is set, too")
    if chain:
        if not settings.keystore_key:
            raise settings.error(
                "keystore_key", "it is missing, ssl.keystore.certificate.chain set"
            )
        with _blaming(settings, "keystore_certificate_chain"):
            return read_pem_identity(f"{chain}\n{settings.keystore_key}")
    if settings.keystore_key:
        raise settings.error("keystore_certificate_chain", "it is missing, ssl.keystore.key set")
    if settings.certificate_location or settings.key_location:
        return _pem_files(settings)
    if not location:
        return None
    data = _read(settings, "keystore_location")
    kind = _type(settings, "keystore_type")
    with _blaming(settings, "keystore_location"):
        return read_identity(data, kind, settings.keystore_password, settings.key_password)


def _pem_files(settings: TlsSettings) -> Identity:
    """Return our key and certificates from librdkafka's two files, which may be the same."""
    fields = ("key_location", "certificate_location")
    given = [field for field in fields if getattr(settings, field)]
    data = b"\n".join(_read(settings, field) for field in given)
    with _blaming(settings, given[0]):
        return read_identity(data, PEM, None, None)


def _prove(context: ssl.SSLContext, settings: TlsSettings, identity: Identity) -> None:
    """Set who we are."""
    fields = ("keystore_location", "certificate_location", "key_location", "keystore_key")
    field = next(field for field in fields if getattr(settings, field))
    if identity.is_encrypted and settings.key_password is None:
        raise settings.error("key_password", "the private key is encrypted, and this is not set")
    with _blaming(settings, field), _as_file(identity.pem) as file:
        context.load_cert_chain(file, password=settings.key_password or "")


def _type(settings: TlsSettings, field: str) -> str:
    kind: str = getattr(settings, field) or ""
    if kind and kind.upper() not in TYPES:
        raise settings.error(field, f"{kind!r} is none of {', '.join(sorted(TYPES))}")
    return kind.upper()


def _read(settings: TlsSettings, field: str) -> bytes:
    """Return the content of the file that a setting names."""
    location: str = getattr(settings, field)
    try:
        with Path(location).open("rb") as file:
            data = file.read(_MAX_STORE_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise settings.error(field, f"cannot read {location}: {why}") from error
    if len(data) > _MAX_STORE_BYTES:
        raise settings.error(field, f"{location} has more than {_MAX_STORE_BYTES >> 20} MiB")
    return data


@contextmanager
def _blaming(settings: TlsSettings, field: str) -> Iterator[None]:
    """Turn an error about a store into a ConfigError about the setting."""
    value = getattr(settings, field) if field.endswith("location") else ""
    where = f"{value}: " if value else ""
    try:
        yield
    except ssl.SSLError as error:
        raise settings.error(field, f"{where}{_words(error)}") from error
    except (DecodeError, ValueError) as error:
        raise settings.error(field, f"{where}{error}") from error


def _words(error: ssl.SSLError) -> str:
    """Return OpenSSL's objection to a store, in plain words."""
    known = {
        "KEY_VALUES_MISMATCH": "the private key does not belong to the first certificate",
        "BAD_DECRYPT": "ssl.key.password is wrong",
        "EE_KEY_TOO_SMALL": "the key is too small to be safe",
        "CA_MD_TOO_WEAK": "a certificate is signed in a way that is not safe any more",
    }
    reason = error.reason or ""
    return known.get(reason, f"OpenSSL refuses it: {reason.replace('_', ' ').lower() or error}")


@contextmanager
def _as_file(pem: str) -> Iterator[str]:
    """Yield the name of a file that holds a key: OpenSSL reads keys from files only.

    It is in memory where the system can do that, so that nothing can be left behind; elsewhere it
    is a temporary file of this user.
    """
    if hasattr(os, "memfd_create") and _OPEN_FILES.is_dir():
        with os.fdopen(os.memfd_create("kdiag"), "w", encoding="ascii") as file:
            file.write(pem)
            file.flush()
            yield str(_OPEN_FILES / str(file.fileno()))
    else:
        from tempfile import NamedTemporaryFile  # noqa: PLC0415 - 4 ms, seldom needed

        with NamedTemporaryFile("w", prefix="kdiag-", suffix=".pem", encoding="ascii") as file:
            file.write(pem)
            file.flush()
            yield file.name
