from kdiag.client.config.sources import Setting
from kdiag.client.config.tls import TlsConfig, tls_config
from kdiag.client.config.values import ConfigValues


def config(**settings: str) -> TlsConfig:
    """Return what settings say, which are named with underscores and without `ssl.`."""
    found = {}
    for name, value in settings.items():
        key = f"ssl.{name.replace('_', '.')}"
        found[key] = Setting(key, value, "-X", key)
    return tls_config(ConfigValues(found))


def test_everything_is_verified_unless_it_is_said_otherwise() -> None:
    """And nothing is shown that nobody gave."""
    nothing = config()

    assert (nothing.verifies_certificate, nothing.verifies_hostname) == (True, True)
    assert nothing.enabled_protocols == ("TLSv1.2", "TLSv1.3")
    assert (nothing.truststore_location, nothing.truststore_type) == (None, None)
    assert (nothing.keystore_location, nothing.keystore_key, nothing.key_location) == (None,) * 3
    assert nothing.cipher_suites == ()


def test_an_empty_algorithm_leaves_the_name_unverified() -> None:
    """As in Java; librdkafka says `none`."""
    assert not config(endpoint_identification_algorithm="").verifies_hostname
    assert config(endpoint_identification_algorithm="").verifies_certificate


def test_stores_come_with_type_and_password() -> None:
    """The type is None where nobody said it, so that the file can tell."""
    told = config(truststore_location="/t", truststore_type="pkcs12", truststore_password="x")

    assert (told.truststore_location, told.truststore_type) == ("/t", "PKCS12")
    assert told.truststore_password == "x"
    assert "'x'" not in repr(told)


def test_cipher_suites_stand_between_commas_or_colons() -> None:
    """Java's way and OpenSSL's."""
    assert config(cipher_suites="A, B").cipher_suites == ("A", "B")
    assert config(cipher_suites="A:B").cipher_suites == ("A", "B")
