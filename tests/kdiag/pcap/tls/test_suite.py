import ssl

from kdiag.pcap.tls.suite import CipherSuite, find_suite, name_suite
from tiers.cases import for_each


def test_a_suite_is_what_its_name_says() -> None:
    """Mode, key size and hashes come out of the name, in the old form and the new one."""
    assert find_suite(0x1302) == CipherSuite(
        "TLS_AES_256_GCM_SHA384", "GCM", 32, "sha384", "sha384", is_tls13=True
    )
    assert find_suite(0xC013) == CipherSuite(
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "CBC", 16, "sha256", "sha1", is_tls13=False
    )
    assert find_suite(0xC0AE) == CipherSuite(
        "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", "CCM_8", 16, "sha256", "", is_tls13=False
    )


def test_an_unknown_suite_is_named_by_its_number() -> None:
    """What cannot be opened can still be looked up."""
    assert find_suite(0x000A) is None
    assert name_suite(0x000A) == "0x000A"
    assert name_suite(0xCCA8) == "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"


def openssl_suites() -> list[dict[str, object]]:
    """Return what OpenSSL knows about the suites of TLS 1.2 and 1.3 with a certificate and AES."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("aRSA+AES:aECDSA+AES:aDSS+AES:CHACHA20+aRSA:CHACHA20+aECDSA:@SECLEVEL=0")
    kinds = {"kx-rsa", "kx-ecdhe", "kx-dhe", "kx-any"}
    return [dict(suite) for suite in context.get_ciphers() if suite["kea"] in kinds]


@for_each("openssl", openssl_suites(), ids=lambda suite: str(suite["name"]))
def test_openssl_agrees_on_every_suite_that_it_knows(openssl: dict[str, object]) -> None:
    """Number, mode, key size and hash are OpenSSL's for all of its suites with AES or ChaCha20."""
    suite = find_suite(int(str(openssl["id"])) & 0xFFFF)
    name, symmetric = str(openssl["name"]), str(openssl["symmetric"])

    assert suite is not None
    mode = suite.mode.replace("CCM_8", "CCM").replace("_", "-")
    assert symmetric in {f"aes-{suite.key_bytes * 8}-{mode}".lower(), mode.lower()}
    assert ("CCM8" in name) == (suite.mode == "CCM_8")
    assert ("SHA384" in name) == (suite.hash_name == "sha384")
    assert openssl["digest"] == (suite.mac_name if suite.mode == "CBC" else None)
    assert suite.is_tls13 == (openssl["kea"] == "kx-any")
