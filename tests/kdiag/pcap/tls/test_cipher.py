import itertools
import ssl

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256, SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.tls.cipher import Tls13Epochs, tls12_epochs
from kdiag.pcap.tls.direction import Epoch
from kdiag.pcap.tls.handshake import HandshakeReader, read_client_hello, read_server_hello
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.tls.record import RecordReader, TlsRecord
from kdiag.pcap.tls.suite import CipherSuite, find_suite
from recordings.tls_capture import Stretch, joined
from secure_ends.tls_pair import NO_ENCRYPT_THEN_MAC, make_peers
from tiers.cases import for_each

SUITES13 = [0x1301, 0x1302, 0x1303, 0x1304, 0x1305]
SECRET = bytes(range(48))
SAID = Stretch(is_client=True, data=b"what was said")


def suite_of(number: int) -> CipherSuite:
    """Return a suite that is known."""
    suite = find_suite(number)
    assert suite is not None
    return suite


def expanded(number: int, secret: bytes, label: bytes, size: int) -> bytes:
    """Return key bytes of TLS 1.3, by the library's own HKDF."""
    info = size.to_bytes(2) + bytes([6 + len(label)]) + b"tls13 " + label + b"\0"
    return HKDFExpand(SHA384() if number == 0x1302 else SHA256(), size, info).derive(secret)


def sealed13(number: int, secret: bytes, sequence: int, inner: bytes) -> TlsRecord:
    """Return a record of TLS 1.3 with some content, content type and padding."""
    key = expanded(number, secret, b"key", 16 if number in {0x1301, 0x1304, 0x1305} else 32)
    start = int.from_bytes(expanded(number, secret, b"iv", 12))
    tag_bytes = 8 if number == 0x1305 else 16
    cipher: AESGCM | AESCCM | ChaCha20Poly1305
    if number in {0x1301, 0x1302}:
        cipher = AESGCM(key)
    else:
        cipher = ChaCha20Poly1305(key) if number == 0x1303 else AESCCM(key, tag_bytes)
    header = b"\x17\3\3" + (len(inner) + tag_bytes).to_bytes(2)
    payload = cipher.encrypt((start ^ sequence).to_bytes(12), inner, header)
    return TlsRecord(header, payload, 0, len(payload) + 5)


@for_each("number", SUITES13)
@for_each("sequence", [0, 1, 2**33])
def test_a_record_of_tls_1_3_opens_with_its_own_number_alone(number: int, sequence: int) -> None:
    """Content type and padding are inside; a wrong number does not authenticate."""
    record = sealed13(number, SECRET, sequence, b"content\0\x17" + bytes(50))
    handshake, application = itertools.islice(Tls13Epochs(suite_of(number), SECRET, SECRET), 2)

    for epoch in (handshake, application):
        assert epoch.cipher is not None
        assert epoch.cipher.open(sequence, record) == (23, b"content\0")
        assert epoch.cipher.open(sequence + 1, record) is None
        assert epoch.cipher.open(sequence, record._replace(payload=record.payload[1:])) is None


def test_each_key_update_follows_from_the_secret_before_it() -> None:
    """The third key is derived from the second secret, which is never logged."""
    secret = SECRET
    for epoch in itertools.islice(Tls13Epochs(suite_of(0x1302), None, SECRET), 1, 4):
        assert epoch.cipher is not None
        assert epoch.cipher.open(7, sealed13(0x1302, secret, 7, b"x\x16")) == (22, b"x")
        secret = expanded(0x1302, secret, b"traffic upd", 48)


def test_a_record_of_nothing_but_padding_is_refused() -> None:
    """It has no content type."""
    _, epoch = itertools.islice(Tls13Epochs(suite_of(0x1301), None, SECRET), 2)

    assert epoch.cipher is not None
    assert epoch.cipher.open(0, sealed13(0x1301, SECRET, 0, bytes(20))) is None


def test_the_overhead_is_what_a_record_is_longer_than_its_content() -> None:
    """From it follows how much content is lost with records of known size."""
    for number in SUITES13:
        _, epoch = itertools.islice(Tls13Epochs(suite_of(number), None, SECRET), 2)
        record = sealed13(number, SECRET, 0, b"content\x17")

        assert epoch.cipher is not None
        assert epoch.cipher.overhead_bytes == len(record.payload) - len(b"content")


@pytest.fixture(
    scope="module",
    params=["AES128-GCM-SHA256", "AES256-CCM8", "ECDHE-RSA-CHACHA20-POLY1305", "cbc", "etm"],
)
def first_said(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Epoch, TlsRecord]:
    """Return the client's epoch and its first record with application data, of OpenSSL's making."""
    ciphers = {"cbc": "AES128-SHA256", "etm": "AES256-SHA"}.get(request.param, request.param)
    folder = tmp_path_factory.mktemp("talk")
    peers = make_peers(folder, version=ssl.TLSVersion.TLSv1_2, ciphers=f"{ciphers}:@SECLEVEL=0")
    if request.param == "cbc":
        peers.client.options |= NO_ENCRYPT_THEN_MAC
    talk = peers.talk([SAID])
    from_server, from_client = (
        RecordReader().feed(joined(talk.wire, is_client=is_client)) for is_client in (False, True)
    )
    client = read_client_hello(HandshakeReader().feed(from_client[0].payload)[0].body)
    server = read_server_hello(HandshakeReader().feed(from_server[0].payload)[0].body)
    secret = KeyLog.parse(talk.keylog).master_secret(client.random)
    assert secret is not None
    assert server.macs_ciphertext == (request.param == "etm")
    _, epoch = tls12_epochs(
        suite_of(server.suite),
        secret,
        client.random + server.random,
        macs_ciphertext=server.macs_ciphertext,
    )
    return epoch, next(record for record in from_client if record.kind == 23)


def test_a_record_of_tls_1_2_opens_with_its_own_number_alone(
    first_said: tuple[Epoch, TlsRecord],
) -> None:
    """The first number of the epoch went to the message Finished."""
    epoch, record = first_said

    assert epoch.cipher is not None
    assert epoch.cipher.open(1, record) == (23, SAID.data)
    assert epoch.cipher.open(0, record) is None
    assert epoch.cipher.open(2, record) is None


def test_any_flipped_bit_fails_authentication(first_said: tuple[Epoch, TlsRecord]) -> None:
    """No byte of a record can change: nonce, ciphertext, padding, MAC or content type."""
    epoch, record = first_said
    assert epoch.cipher is not None

    for at in range(len(record.payload)):
        payload = bytearray(record.payload)
        payload[at] ^= 1
        assert epoch.cipher.open(1, record._replace(payload=bytes(payload))) is None
    assert epoch.cipher.open(1, record._replace(header=b"\x16" + record.header[1:])) is None


@given(payload=st.binary(max_size=100))
def test_random_payloads_are_refused(first_said: tuple[Epoch, TlsRecord], payload: bytes) -> None:
    """A payload too short for nonce and tag, or of no whole blocks, is no error."""
    epoch, record = first_said
    *_, epoch13 = itertools.islice(Tls13Epochs(suite_of(0x1305), SECRET, SECRET), 2)

    for each in (epoch, epoch13):
        assert each.cipher is not None
        assert each.cipher.open(1, record._replace(payload=payload)) is None
