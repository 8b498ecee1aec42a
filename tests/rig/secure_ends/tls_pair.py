"""Two ends of TLS in memory, both OpenSSL's, and everything that they sent each other.

peers = make_peers(folder, version=ssl.TLSVersion.TLSv1_2, ciphers="ECDHE-RSA-AES128-GCM-SHA256")
talk = peers.talk([Stretch(is_client=True, data=b"question")])
talk.wire, talk.keylog
"""

import datetime as dt
import functools
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from recordings.tls_capture import Stretch

HOST: Final = "broker.example.test"
NO_ENCRYPT_THEN_MAC: Final = 1 << 19
"""OpenSSL's SSL_OP_NO_ENCRYPT_THEN_MAC, which Python does not name."""


class Talk(NamedTuple):
    """What two ends said to each other.

    Attributes:
        wire: what crossed the wire, in order.
        keylog: the secrets, as the client logged them.
        session: for resuming it.
    """

    wire: list[Stretch]
    keylog: bytes
    session: ssl.SSLSession | None

    def __repr__(self) -> str:
        return f"<Talk of {len(self.wire)} flights>"


class _End:
    """One end: what it sends collects in `outgoing`."""

    def __init__(self, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        is_server = context.protocol == ssl.PROTOCOL_TLS_SERVER
        self.tls = context.wrap_bio(
            self.incoming,
            self.outgoing,
            server_side=is_server,
            server_hostname=None if is_server else HOST,
            session=session,
        )

    def shake_hands(self) -> bool:
        """Go on with the handshake; return whether it is over."""
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def read(self) -> bytes:
        """Return what has come in, and take note of tickets and key updates."""
        data = b""
        try:
            while True:
                data += self.tls.read(1 << 16)
        except ssl.SSLWantReadError:
            return data


class Peers:
    """A client and a server that trust each other; they can talk more than once."""

    def __init__(self, client: ssl.SSLContext, server: ssl.SSLContext, keylog: Path) -> None:
        self.client = client
        self.server = server
        self._keylog = keylog

    def talk(self, said: Iterable[Stretch], session: ssl.SSLSession | None = None) -> Talk:
        """Shake hands, say something, one after the other, and say good-bye."""
        ends = (_End(self.server), _End(self.client, session))
        wire: list[Stretch] = []
        done = [False, False]
        while not all(done):
            for is_client in (True, False):
                done[is_client] = ends[is_client].shake_hands()
                _carry(ends, wire, is_client=is_client)
        ends[True].read()
        for is_client, data in said:
            ends[is_client].tls.write(data)
            _carry(ends, wire, is_client=is_client)
            assert ends[not is_client].read() == data
        for is_client in (True, False):
            _say_good_bye(ends[is_client])
            _carry(ends, wire, is_client=is_client)
        return Talk(wire, self._keylog.read_bytes(), ends[True].tls.session)


def make_peers(
    folder: Path,
    *,
    version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
    ciphers: str = "ALL:@SECLEVEL=0",
) -> Peers:
    """Return two ends that speak one version, with certificates made in a folder.

    Args:
        folder: for certificates and the key log.
        version: what they speak.
        ciphers: what they may choose from in TLS 1.2, in OpenSSL's notation.
    """
    contexts = (ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    client, server = contexts
    certificates = [make_certificate(folder, is_rsa=is_rsa) for is_rsa in (True, False)]
    for context in contexts:
        context.minimum_version = context.maximum_version = version
        context.set_ciphers(ciphers)
        for certificate in certificates:
            context.load_cert_chain(certificate)
            context.load_verify_locations(certificate)
    keylog = folder / "keylog"
    client.keylog_filename = str(keylog)
    return Peers(client, server, keylog)


def make_certificate(folder: Path, *, is_rsa: bool = False) -> Path:
    """Return a file with a private key and a certificate that it has signed itself."""
    file = folder / ("rsa.pem" if is_rsa else "ec.pem")
    file.write_bytes(_key_and_certificate(is_rsa=is_rsa))
    return file


@functools.cache
def _key_and_certificate(*, is_rsa: bool) -> bytes:
    """Return both as PEM, the same ones for all tests of a run: making RSA keys takes long."""
    key = (
        rsa.generate_private_key(65537, 2048) if is_rsa else ec.generate_private_key(ec.SECP256R1())
    )
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = dt.datetime.now(dt.UTC)
    day = dt.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private + certificate.public_bytes(Encoding.PEM)


def _carry(ends: tuple[_End, _End], wire: list[Stretch], *, is_client: bool) -> None:
    """Bring what one end has sent to the other."""
    data = ends[is_client].outgoing.read()
    if data:
        wire.append(Stretch(is_client, data))
        ends[not is_client].incoming.write(data)


def _say_good_bye(end: _End) -> None:
    try:
        end.tls.unwrap()
    except ssl.SSLWantReadError:
        return
