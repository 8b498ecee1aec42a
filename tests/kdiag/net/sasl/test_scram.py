import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.net.sasl.mechanism import SaslError
from kdiag.net.sasl.scram import Scram
from tiers.cases import for_each

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
SERVER_FIRST = f"r={NONCE}{SERVER_NONCE},s={SALT},i=4096".encode()
CLIENT_FINAL = f"c=biws,r={NONCE}{SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
"""The example of RFC 7677, section 3."""

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def talk_of_the_rfc() -> Generator[bytes, bytes, None]:
    """Return the client's side of the example."""
    return Scram("SCRAM-SHA-256", "user", "pencil").tokens(NONCE)


def as_kafka_proves(name: str, password: str, first_bare: str, client_final: str) -> str:
    """Return what a broker answers to a right proof, computed apart from the library.

    It checks the proof first, as RFC 5802, section 3 has it.
    """
    without_proof, _, proof = client_final.rpartition(",p=")
    server_nonce = without_proof.rpartition("r=")[2]
    message = f"{first_bare},r={server_nonce},s={SALT},i=4096,{without_proof}".encode()
    salted = hashlib.pbkdf2_hmac(HASHES[name], password.encode(), b64decode(SALT), 4096)
    client_key = hmac.digest(salted, b"Client Key", HASHES[name])
    stored_key = hashlib.new(HASHES[name], client_key).digest()
    signature = hmac.digest(stored_key, message, HASHES[name])
    assert b64decode(proof) == bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    server_key = hmac.digest(salted, b"Server Key", HASHES[name])
    return b64encode(hmac.digest(server_key, message, HASHES[name])).decode()


def test_scram_says_what_the_example_of_the_rfc_says() -> None:
    """The proof shows knowledge of the password, and the last answer shows it of the broker."""
    talk = talk_of_the_rfc()
    assert next(talk) == f"n,,n=user,r={NONCE}".encode()
    assert talk.send(SERVER_FIRST) == CLIENT_FINAL.encode()
    with pytest.raises(StopIteration):
        talk.send(SERVER_FINAL)


@for_each("name", HASHES)
@for_each("password", ["pencil", "p=a,b", "pa\u017fsw\u00f6rd\N{HERB}", "a\u00adb"])
def test_scram_takes_names_and_passwords_as_kafka_does(name: str, password: str) -> None:
    """Nothing is normalized: not the long s, not an emoji, not a soft hyphen."""
    talk = Scram(name, "a=b,c\u017f", password).tokens(NONCE)
    first = next(talk).decode().removeprefix("n,,")
    assert first == f"n=a=3Db=2Cc\u017f,r={NONCE}"
    final = talk.send(SERVER_FIRST).decode()
    proof = as_kafka_proves(name, password, first, final)
    with pytest.raises(StopIteration):
        talk.send(f"v={proof}".encode())


def test_a_delegation_token_says_that_it_is_one() -> None:
    """The broker then looks for a token's HMAC instead of a password (KIP-48)."""
    talk = Scram("SCRAM-SHA-512", "id", "aG1hYw==", is_delegation_token=True).tokens(NONCE)
    first = next(talk).decode().removeprefix("n,,")
    assert first == f"n=id,r={NONCE},tokenauth=true"
    final = talk.send(SERVER_FIRST).decode()
    assert as_kafka_proves("SCRAM-SHA-512", "aG1hYw==", first, final)


def test_every_conversation_has_its_own_nonce() -> None:
    """What one connection said is of no use on another."""
    scram = Scram("SCRAM-SHA-256", "user", "pencil")
    assert next(scram.tokens()) != next(scram.tokens())


def test_a_broker_that_does_not_know_the_password_is_refused() -> None:
    """A wrong signature means that somebody poses as the broker."""
    talk = talk_of_the_rfc()
    next(talk)
    talk.send(SERVER_FIRST)
    with pytest.raises(SaslError, match="does not prove that it knows the password") as raised:
        talk.send(b"v=" + b64encode(bytes(32)))
    assert "posing" in raised.value.fix


def test_a_broker_may_not_keep_us_busy() -> None:
    """A million iterations take about a second; more are refused before they begin."""
    talk = talk_of_the_rfc()
    next(talk)
    with pytest.raises(SaslError, match="2000000 iterations"):
        talk.send(SERVER_FIRST.replace(b"i=4096", b"i=2000000"))


def test_an_error_of_the_broker_is_a_refusal() -> None:
    """RFC 5802 lets the server say why; Kafka uses an error code instead."""
    talk = talk_of_the_rfc()
    next(talk)
    with pytest.raises(SaslError, match=r"refused user 'user' \(SCRAM-SHA-256\): unknown-user"):
        talk.send(b"e=unknown-user")


@pytest.mark.thorough
@given(st.binary(max_size=60) | st.text("rsive=,n0123456789ABCabc+/", max_size=60).map(str.encode))
def test_whatever_a_broker_says_the_error_is_one(said: bytes) -> None:
    """No token of a broker raises anything but a SaslError."""
    first, second = talk_of_the_rfc(), talk_of_the_rfc()
    next(first)
    with pytest.raises(SaslError):
        first.send(said)
    next(second)
    second.send(SERVER_FIRST)
    with pytest.raises(SaslError):
        second.send(said)


def test_scram_explains_a_refusal_and_never_says_the_password() -> None:
    """A user may have credentials for one of the mechanisms and none for the other."""
    scram = Scram("SCRAM-SHA-512", "alice", "s3cret")
    refusal = scram.explain("Authentication failed")
    assert "'alice' (SCRAM-SHA-512)" in refusal.why
    assert "SCRAM-SHA-512 credentials" in refusal.fix
    token = Scram("SCRAM-SHA-512", "id", "s3cret", is_delegation_token=True)
    assert "token 'id'" in token.explain("Authentication failed").why
    assert "s3cret" not in f"{scram!r} {refusal} {token!r}"


def test_kafka_has_two_scram_mechanisms() -> None:
    """SCRAM-SHA-1 was never one of them."""
    with pytest.raises(ValueError, match="SCRAM-SHA-1"):
        Scram("SCRAM-SHA-1", "user", "pencil")
