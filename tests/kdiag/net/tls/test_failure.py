import ssl

from kdiag.errors import AuthenticationError, Layer
from kdiag.net.tls.certificate import read_certificate
from kdiag.net.tls.failure import FailedHandshake, broken, refusal
from kdiag.net.transport import EndOfStreamError
from secure_ends.certificates import make_authority, rsa_key
from tiers.cases import for_each

ROOT = make_authority("Root")
CHAIN = [read_certificate(ROOT.issue("broker", key=rsa_key(1024)).der)]
CLIENT = FailedHandshake("broker:9093", "broker", first_bytes=b"\x16\x03\x03", chain=CHAIN)
SERVER = CLIENT._replace(peer="client:1", is_server=True, chain=())


def openssl(reason: str | None) -> ssl.SSLError:
    """Return OpenSSL's error for a reason."""
    error = ssl.SSLError(1, f"[SSL: {reason}] (_ssl.c:1)")
    error.reason = reason  # type: ignore[assignment]
    return error


def unverified(code: int) -> ssl.SSLError:
    """Return OpenSSL's error for a certificate that it does not accept."""
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] (_ssl.c:1)")
    error.reason = "CERTIFICATE_VERIFY_FAILED"
    error.verify_code = code
    error.verify_message = "OpenSSL's own words"
    return error


@for_each(
    ("reason", "why"),
    [
        ("SSLV3_ALERT_BAD_CERTIFICATE", "asks for a client certificate and got none, or one that"),
        ("SSLV3_ALERT_CERTIFICATE_UNKNOWN", "does not accept our certificate"),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "our certificate is expired or not valid yet"),
        ("SSLV3_ALERT_CERTIFICATE_REVOKED", "our certificate is revoked"),
        ("SSLV3_ALERT_UNSUPPORTED_CERTIFICATE", "cannot use our certificate"),
        ("TLSV1_ALERT_UNKNOWN_CA", "does not trust the issuer of our certificate"),
        ("TLSV1_ALERT_DECRYPT_ERROR", "could not verify our signature"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "speaks none of our TLS versions"),
        ("TLSV1_ALERT_INSUFFICIENT_SECURITY", "wants stronger cipher suites than ours"),
        ("TLSV1_UNRECOGNIZED_NAME", "does not know the host name that we asked for (SNI)"),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "asks for a client certificate and got none (alert"),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", "has no TLS version or cipher suite in common with us"),
    ],
)
def test_alerts_of_a_broker_are_told_with_what_to_do(reason: str, why: str) -> None:
    """Each says what the broker means, under which name it stands in RFC 8446, and the fix."""
    told = refusal(openssl(reason), CLIENT)

    assert told.why.startswith("the broker refused the TLS handshake: it ") or "our" in told.why
    assert why in told.why
    assert told.fix


def test_an_alert_without_a_fix_is_told_by_its_name() -> None:
    """Nothing is made up about what only the broker can know."""
    told = refusal(openssl("TLSV1_ALERT_INTERNAL_ERROR"), CLIENT)

    assert told.why == "the broker refused the TLS handshake (alert internal_error)"
    assert told.fix == ""


def test_a_handshake_that_fails_after_a_suite_was_agreed_on_lacks_a_certificate() -> None:
    """In TLS 1.2 that alert is all that a broker says about a missing client certificate."""
    told = refusal(openssl("SSLV3_ALERT_HANDSHAKE_FAILURE"), CLIENT._replace(has_cipher=True))

    assert "most likely it asks for a client certificate and got none" in told.why
    assert told.fix.startswith("Set ssl.keystore.location")


def test_alerts_of_a_client_are_told_by_their_names() -> None:
    """What a client minds is for its own settings to say."""
    told = refusal(openssl("TLSV1_ALERT_UNKNOWN_CA"), SERVER)

    assert told.why == "the client refused the TLS handshake (alert unknown_ca)"


@for_each(
    ("code", "why"),
    [
        (18, "is signed by itself (CN=broker) and not among the trusted ones"),
        (20, "is signed by CN=Root, who is not trusted"),
        (
            66,
            "has a key or a signature (RSA, 1024 bits, SHA-256 with ECDSA) that is not considered",
        ),
        (62, "is not for broker; it is for broker"),
        (79, "was not accepted: OpenSSL's own words"),
    ],
)
def test_certificates_that_are_not_accepted_are_told(code: int, why: str) -> None:
    """With what the certificate states, or in OpenSSL's own words."""
    told = refusal(unverified(code), CLIENT)

    assert told.why.startswith("the certificate of the broker " + why)


@for_each("code", [9, 10, 18, 20, 26, 62, 66])
def test_the_same_is_told_without_the_certificate(code: int) -> None:
    """A server does not get to see a client's certificate that it does not accept."""
    told = refusal(unverified(code), SERVER)

    assert told.why.startswith("the certificate of the client ")
    assert told.fix


def test_what_is_not_known_is_told_in_openssls_words() -> None:
    """A reason without an explanation, and no reason at all."""
    assert (
        refusal(openssl("BAD_KEY_SHARE"), CLIENT).why == "the TLS handshake failed: bad key share"
    )
    assert refusal(openssl(None), CLIENT).why.startswith("the TLS handshake failed: ")


def test_every_refusal_names_peer_and_layer() -> None:
    """Whoever shows it needs nothing else."""
    told = refusal(openssl("NO_SHARED_CIPHER"), CLIENT)

    assert isinstance(told, AuthenticationError)
    assert (told.address, told.layer) == ("broker:9093", Layer.TLS)
    assert told.why == "the broker does not suit us: it has no cipher suite in common with us"


def test_a_connection_that_ended_is_told_by_how_far_it_came() -> None:
    """An end before the first answer looks like a port without TLS; a foreign answer is one."""
    end = EndOfStreamError("closed")
    silent = broken(end, CLIENT._replace(first_bytes=b"")).connect_error
    began = broken(ConnectionResetError(), CLIENT).connect_error
    foreign = broken(end, CLIENT._replace(first_bytes=b"HTTP/1.1 400")).connect_error

    assert "as a listener without TLS does" in silent.why
    assert began.why == "the broker broke off the connection during the TLS handshake"
    assert foreign.why == 'the port does not speak TLS: a web server answered: "HTTP/1.1 400"'
    assert {type(told).__name__ for told in (silent, began, foreign)} == {"ConnectError"}
