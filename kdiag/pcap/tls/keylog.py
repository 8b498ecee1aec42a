"""The secrets of recorded TLS connections, as OpenSSL, Go, agents for Java and browsers log them.

A key log is text, one secret a line: what it is for, the random bytes of the connection's
ClientHello, and the secret, the last two in hexadecimal:

    SERVER_TRAFFIC_SECRET_0 1f476021...3606719cf 92a75ae6...6f09156eb

Programs write it to the file that `SSLKEYLOGFILE` names, pcapng captures carry it in Decryption
Secrets Blocks. A connection of TLS 1.2 needs one line, one of TLS 1.3 needs four.

Source: RFC 9850, which writes down the format that NSS began.
"""

import io
import re
from typing import TYPE_CHECKING, Final, Self

from kdiag.pcap.files.pcapng import TLS_KEY_LOG, Secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEFAULT_MAX_SECRETS: Final = 200_000
"""Enough for 50,000 connections of TLS 1.3, or four times as many of TLS 1.2."""

_MASTER: Final = "CLIENT_RANDOM"
_HANDSHAKE: Final = "{}_HANDSHAKE_TRAFFIC_SECRET"
_TRAFFIC: Final = "{}_TRAFFIC_SECRET_0"
_SIDES: Final = ("SERVER", "CLIENT")
# Labels are kept as one byte, for there may be many lines. Lines with other labels, such as
# EXPORTER_SECRET, are as good, but protect no records.
_CODES: Final = {
    label: bytes([code])
    for code, label in enumerate(
        [_MASTER, *(form.format(side) for form in (_HANDSHAKE, _TRAFFIC) for side in _SIDES)]
    )
}
_LINE: Final = re.compile(
    rb"([A-Z][A-Z0-9_]{0,63}) ([0-9A-Fa-f]{64}) ((?:[0-9A-Fa-f]{2}){32,64})\s*"
)
_MASTER_SECRET_BYTES: Final = 48


class KeyLog:
    """Secrets, found by their label and the client random of their connection.

    Attributes:
        bad_lines: lines that are neither secrets nor comments.
        left_out: secrets that were not kept because there are `max_secrets` already.
        look_ahead: finds those in the rest of the captures, when one is missing for the first time;
            None where nothing can be looked at before it is read.
    """

    def __init__(self, *, max_secrets: int = DEFAULT_MAX_SECRETS) -> None:
        self.bad_lines = 0
        self.left_out = 0
        self.look_ahead: Callable[[], Iterable[list[Secrets]]] | None = None
        self._max_secrets = max_secrets
        self._secrets: dict[bytes, bytes] = {}

    @classmethod
    def parse(cls, data: bytes, *, max_secrets: int = DEFAULT_MAX_SECRETS) -> Self:
        """Return the secrets of a key log; bad lines are counted and skipped."""
        keylog = cls(max_secrets=max_secrets)
        keylog.add(data)
        return keylog

    def __len__(self) -> int:
        return len(self._secrets)

    def add_secrets(self, secrets: list[Secrets]) -> None:
        """Add the key logs of a capture, and empty the list of its secrets."""
        while secrets:
            found = secrets.pop()
            if found.kind == TLS_KEY_LOG:
                self.add(found.data)

    def look_further(self, client_random: bytes, *, is_tls13: bool) -> None:
        """Look for the secrets of a connection where they have not been looked for: ahead, once."""
        if self.look_ahead is None or self.knows(client_random, is_tls13=is_tls13):
            return
        look_ahead, self.look_ahead = self.look_ahead, None
        for secrets in look_ahead():
            self.add_secrets(secrets)

    def add(self, data: bytes) -> None:
        """Add the text of another key log; where both hold a secret, the new one counts."""
        for line in io.BytesIO(data):
            if not line.isspace() and not line.startswith(b"#"):
                self._add_line(line, self._keep)

    def master_secret(self, client_random: bytes) -> bytes | None:
        """Return the master secret of a connection of TLS 1.2."""
        return self._get(_CODES[_MASTER] + client_random)

    def handshake_secret(self, client_random: bytes, *, is_client: bool) -> bytes | None:
        """Return the secret of one direction in the handshake of TLS 1.3."""
        return self._get(_CODES[_HANDSHAKE.format(_SIDES[is_client])] + client_random)

    def traffic_secret(self, client_random: bytes, *, is_client: bool) -> bytes | None:
        """Return the secret of one direction of TLS 1.3 from the handshake to the first update.

        Those that follow come out of it.
        """
        return self._get(_CODES[_TRAFFIC.format(_SIDES[is_client])] + client_random)

    def knows(self, client_random: bytes, *, is_tls13: bool) -> bool:
        """Return whether all secrets of a connection are here."""
        labels = [label for label in _CODES if (label != _MASTER) is is_tls13]
        return all(self._get(_CODES[label] + client_random) is not None for label in labels)

    def _get(self, key: bytes) -> bytes | None:
        return self._secrets.get(key)

    def _add_line(self, line: bytes, keep: "Callable[[bytes, bytes], object]") -> None:
        match = _LINE.fullmatch(line)
        if match is None:
            self.bad_lines += 1
            return
        label, client_random, secret = (field.decode() for field in match.groups())
        if label == _MASTER and len(secret) != 2 * _MASTER_SECRET_BYTES:
            self.bad_lines += 1
        elif label in _CODES:
            keep(_CODES[label] + bytes.fromhex(client_random), bytes.fromhex(secret))

    def _keep(self, key: bytes, secret: bytes) -> None:
        if key in self._secrets or len(self._secrets) < self._max_secrets:
            self._secrets[key] = secret
        else:
            self.left_out += 1
