import ssl

import pytest

from kdiag.net.tls.tls_suite_names import is_java_name, is_tls13_suite, openssl_name


@pytest.mark.parametrize(
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
