import os
import re
import ssl
import subprocess
import tempfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)

from folders import KEY_STORES
from kdiag.errors import ConfigError
from kdiag.net.tls.context import (
    TlsSettings,
    client_context,
    is_java_name,
    is_tls13_suite,
    openssl_name,
    server_context,
)
from secure_ends.certificates import rsa_key
from secure_ends.tls_sockets import (
    AUTHORITY,
    BROKER,
    CLIENT,
    SERVING,
    STRANGER,
    TRUSTING,
    connected,
    identity,
)
from tiers.cases import for_each

STORES = KEY_STORES
JAVA_CLIENT = TlsSettings(
    truststore_location=str(STORES / "truststore.jks"), truststore_password="store-secret"
)
JAVA_SERVER = TlsSettings(
    keystore_location=str(STORES / "keystore.jks"),
    keystore_password="store-secret",
    key_password="key-secret",
)


def shake_hands(client: TlsSettings, server: TlsSettings) -> None:
    """Let both ends of a connection shake hands."""
    with connected(client_context(client), server_context(server)) as ends:
        ends.shake_hands()


@pytest.mark.thorough
@for_each("trust", ["truststore.jks", "truststore.p12"])
@for_each("own", ["keystore.jks", "keystore.p12"])
def test_javas_stores_serve_both_ends(trust: str, own: str) -> None:
    """What keytool wrote is enough for a handshake."""
    shake_hands(
        JAVA_CLIENT._replace(truststore_location=str(STORES / trust)),
        JAVA_SERVER._replace(keystore_location=str(STORES / own)),
    )


def test_pem_files_serve_both_ends(tmp_path: Path) -> None:
    """One file holds whom to trust, another the key with its chain."""
    trusted = tmp_path / "ca.pem"
    trusted.write_text(AUTHORITY.pem)
    own = str(BROKER.save(tmp_path))

    shake_hands(
        TlsSettings(truststore_location=str(trusted), truststore_type="PEM"),
        TlsSettings(keystore_location=own, keystore_type="PEM"),
    )


def test_pem_inside_the_settings_serves_both_ends() -> None:
    """Kafka's settings can hold the PEM itself, and it may stand on one line."""
    on_one_line = TRUSTING._replace(truststore_certificates=AUTHORITY.pem.replace("\n", " "))

    shake_hands(on_one_line, SERVING)


def test_librdkafkas_two_files_serve(tmp_path: Path) -> None:
    """Certificate and key may lie in two files."""
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_text(BROKER.pem)
    key.write_text(BROKER.key_pem)

    shake_hands(TRUSTING, TlsSettings(certificate_location=str(chain), key_location=str(key)))


@pytest.mark.thorough
def test_a_folder_of_certificates_can_be_trusted(tmp_path: Path) -> None:
    """It holds them under the names that OpenSSL gives them."""
    (tmp_path / "ca.pem").write_text(AUTHORITY.pem)
    subprocess.run(["openssl", "rehash", str(tmp_path)], check=True)

    shake_hands(TlsSettings(truststore_location=str(tmp_path)), SERVING)


@pytest.mark.thorough
def test_without_a_trust_store_the_system_is_trusted() -> None:
    """The same certificates are trusted as by any program on this machine."""
    context = client_context(TlsSettings())

    expected = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    expected.load_default_certs()
    assert context.cert_store_stats() == expected.cert_store_stats()
    assert context.verify_mode == ssl.CERT_REQUIRED


def test_a_certificate_that_is_no_root_is_trusted_as_in_java() -> None:
    """The broker's own certificate in the trust store is enough."""
    shake_hands(TlsSettings(truststore_certificates=BROKER.pem), SERVING)


def test_encrypted_keys_are_read_with_their_password() -> None:
    """In both of the forms that OpenSSL writes."""
    old = BROKER.key.private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"secret")
    ).decode()
    for key in (old, BROKER.encrypted_key_pem("secret")):
        shake_hands(TRUSTING, SERVING._replace(keystore_key=key, key_password="secret"))


@pytest.mark.parametrize("has_memory_files", [True, False])
def test_no_key_is_left_on_disk(
    has_memory_files: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A key lies in memory, or in a file for this user only that is gone afterwards."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if not has_memory_files:
        monkeypatch.delattr(os, "memfd_create")
    seen: list[tuple[str, int]] = []
    load = ssl.SSLContext.load_cert_chain

    def watch(context: ssl.SSLContext, file: str, password: str) -> None:
        seen.append((file, Path(file).stat().st_mode & 0o077 if not has_memory_files else 0))
        load(context, file, password=password)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watch)
    opened = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only

    server_context(SERVING)
    with pytest.raises(ConfigError):
        server_context(SERVING._replace(keystore_key=CLIENT.key_pem))

    assert list(tmp_path.iterdir()) == []
    assert [Path(file).parent == tmp_path for file, _ in seen] == [not has_memory_files] * 2
    assert {mode for _, mode in seen} == {0}
    assert len(os.listdir("/proc/self/fd")) == opened  # noqa: PTH208 - names only


def test_settings_show_no_secret() -> None:
    """Not even a debugger's view of them does."""
    assert repr(JAVA_SERVER) == f"<TlsSettings: trusts None, is {STORES}/keystore.jks>"


@for_each(
    ("suites", "protocols", "expected"),
    [
        ((), ("TLSv1.3",), ("TLSv1.3", "TLS_AES_256_GCM_SHA384")),
        ((), ("TLSv1.2", "TLSv1.1", "TLSv1"), ("TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384")),
        (
            ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",),
            ("TLSv1.2", "TLSv1.3"),
            ("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ),
        (
            ("TLS_AES_256_GCM_SHA384",),
            ("TLSv1.2", "TLSv1.3"),
            ("TLSv1.3", "TLS_AES_256_GCM_SHA384"),
        ),
        (
            ("ECDHE-ECDSA-AES128-GCM-SHA256",),
            ("TLSv1.2",),
            ("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ),
    ],
)
def test_versions_and_suites_are_chosen_among_those_enabled(
    suites: tuple[str, ...], protocols: tuple[str, ...], expected: tuple[str, str]
) -> None:
    """A suite belongs to a version, so a list of suites limits versions, as in Java."""
    settings = TRUSTING._replace(cipher_suites=suites, enabled_protocols=protocols)

    with connected(client_context(settings), server_context(SERVING)) as ends:
        ends.shake_hands()

        assert (ends.client.version, ends.client.cipher) == expected


def test_verification_can_be_turned_off() -> None:
    """Then anybody's certificate will do; without the check of the host any that is trusted."""
    stranger = identity(TlsSettings(), STRANGER)
    shake_hands(TlsSettings(verifies_certificate=False), stranger)
    other = AUTHORITY.issue("other", names=["other.test"])
    shake_hands(TRUSTING._replace(verifies_hostname=False), identity(TlsSettings(), other))


@for_each(
    ("settings", "key", "why"),
    [
        (
            TlsSettings(truststore_location="/no/such.jks"),
            "ssl.truststore.location",
            "cannot read /no/such.jks: No such file or directory",
        ),
        (
            TlsSettings(truststore_location="/dev/zero"),
            "ssl.truststore.location",
            "/dev/zero has more than 16 MiB",
        ),
        (
            JAVA_CLIENT._replace(truststore_password="wrong"),
            "ssl.truststore.location",
            f"{STORES}/truststore.jks: the password is wrong, or the file is damaged",
        ),
        (
            JAVA_CLIENT._replace(truststore_type="BKS"),
            "ssl.truststore.type",
            "'BKS' is none of JKS, PEM, PKCS12",
        ),
        (
            TRUSTING._replace(truststore_location="/x"),
            "ssl.truststore.certificates",
            "ssl.truststore.location is set, too",
        ),
        (
            SERVING._replace(keystore_location="/x"),
            "ssl.keystore.certificate.chain",
            "ssl.keystore.location is set, too",
        ),
        (
            SERVING._replace(keystore_key=None),
            "ssl.keystore.key",
            "it is missing, ssl.keystore.certificate.chain set",
        ),
        (
            SERVING._replace(keystore_certificate_chain=None),
            "ssl.keystore.certificate.chain",
            "it is missing, ssl.keystore.key set",
        ),
        (
            SERVING._replace(keystore_key=CLIENT.key_pem),
            "ssl.keystore.key",
            "the private key does not belong to the first certificate",
        ),
        (
            SERVING._replace(keystore_key=BROKER.encrypted_key_pem("secret")),
            "ssl.key.password",
            "the private key is encrypted, and this is not set",
        ),
        (
            TlsSettings(cipher_suites=("TLS_NO_WITH_SUCH_SUITE",)),
            "ssl.cipher.suites",
            "OpenSSL knows none of NO-SUCH-SUITE",
        ),
        (
            TlsSettings(enabled_protocols=("TLSv1", "TLSv1.1")),
            "ssl.enabled.protocols",
            "no version is left that is safe to speak and has a suite in ssl.cipher.suites",
        ),
        (
            TlsSettings(enabled_protocols=("TLS1.3",)),
            "ssl.enabled.protocols",
            "TLS1.3 is not known; TLSv1.2 and TLSv1.3 are",
        ),
    ],
)
def test_what_is_wrong_with_the_settings_is_told(settings: TlsSettings, key: str, why: str) -> None:
    """The error names the setting, the file and what is wrong with it."""
    with pytest.raises(ConfigError) as raised:
        client_context(settings)

    assert (raised.value.key, raised.value.why) == (key, why)


def test_a_wrong_password_of_a_key_is_told() -> None:
    """Whatever words OpenSSL has for it."""
    key = BROKER.encrypted_key_pem("secret")

    with pytest.raises(ConfigError, match=r"ssl\.keystore\.key \(.*\): (OpenSSL|ssl\.key)"):
        client_context(SERVING._replace(keystore_key=key, key_password="wrong"))


def test_a_weak_key_is_told() -> None:
    """OpenSSL refuses RSA keys of 1024 bits."""
    weak = AUTHORITY.issue("weak", key=rsa_key(1024))

    with pytest.raises(ConfigError, match="the key is too small to be safe"):
        client_context(identity(TlsSettings(), weak))


def test_where_a_setting_came_from_is_told() -> None:
    """The error names the line of the file that set it."""
    origins = {"ssl.truststore.location": "client.properties:7"}

    with pytest.raises(ConfigError, match=re.escape("(client.properties:7)")):
        client_context(TlsSettings(truststore_location="/no/such.jks", origins=origins))


def test_a_broken_certificate_in_a_store_is_told() -> None:
    """OpenSSL's words name what is wrong."""
    broken = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----"

    with pytest.raises(ConfigError, match="OpenSSL refuses it"):
        client_context(TlsSettings(truststore_certificates=broken))


def test_a_listener_needs_a_key_and_a_known_client_auth() -> None:
    """A server without a certificate can serve nobody."""
    with pytest.raises(ConfigError, match="a TLS listener needs a key store"):
        server_context(TlsSettings())
    with pytest.raises(ConfigError, match="'maybe' is none of none, requested, required"):
        server_context(SERVING._replace(client_auth="maybe"))


@for_each(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", "DHE-RSA-AES256-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_CCM", "ECDHE-ECDSA-AES128-CCM"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
        ("TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
    ],
)
def test_java_names_become_openssls(java: str, openssl: str) -> None:
    """OpenSSL knows the suite by the name that comes out."""
    assert openssl_name(java) == openssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers(openssl)
    assert openssl in {suite["name"] for suite in context.get_ciphers()}


def test_other_names_stay_as_they_are() -> None:
    """OpenSSL's own names and TLS 1.3's, which both share."""
    for name in ("ECDHE-RSA-AES128-GCM-SHA256", "HIGH:!aNULL", "TLS_AES_128_GCM_SHA256"):
        assert openssl_name(name) == name


def test_suites_of_tls13_name_no_key_exchange() -> None:
    """That is how they are told from older ones."""
    assert is_tls13_suite("TLS_AES_128_GCM_SHA256")
    assert not is_tls13_suite("TLS_RSA_WITH_AES_128_CBC_SHA")
    assert not is_tls13_suite("AES128-SHA")


def test_java_names_are_known_by_how_they_begin() -> None:
    """The oldest ones begin with SSL."""
    assert [is_java_name(name) for name in ("TLS_X", "SSL_X", "AES128-SHA")] == [True, True, False]
