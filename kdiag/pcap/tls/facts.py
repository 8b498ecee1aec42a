"""The facts of a TLS connection, with or without its keys."""

from typing import Final

import msgspec

MAX_ALERTS: Final = 16
MAX_NOTES: Final = 16
"""A connection may repeat itself; whoever reads this has seen enough by then."""

_ALERTS: Final = {
    0: "close_notify",
    10: "unexpected_message",
    20: "bad_record_mac",
    21: "decryption_failed",
    22: "record_overflow",
    30: "decompression_failure",
    40: "handshake_failure",
    41: "no_certificate",
    42: "bad_certificate",
    43: "unsupported_certificate",
    44: "certificate_revoked",
    45: "certificate_expired",
    46: "certificate_unknown",
    47: "illegal_parameter",
    48: "unknown_ca",
    49: "access_denied",
    50: "decode_error",
    51: "decrypt_error",
    60: "export_restriction",
    70: "protocol_version",
    71: "insufficient_security",
    80: "internal_error",
    86: "inappropriate_fallback",
    90: "user_canceled",
    100: "no_renegotiation",
    109: "missing_extension",
    110: "unsupported_extension",
    111: "certificate_unobtainable",
    112: "unrecognized_name",
    113: "bad_certificate_status_response",
    114: "bad_certificate_hash_value",
    115: "unknown_psk_identity",
    116: "certificate_required",
    120: "no_application_protocol",
    121: "ech_required",
}
_LEVELS: Final = {1: "warning", 2: "fatal"}
_ALERT_BYTES: Final = 2


class Alert(msgspec.Struct, frozen=True):
    """An alert of one side: most are sent right before it closes the connection.

    Attributes:
        is_client: whether the client sent it.
        level: `warning` or `fatal`; TLS 1.3 sends it but gives it no meaning. `encrypted` if the
            alert could not be opened.
        name: such as `bad_certificate`; `encrypted` as above.
    """

    is_client: bool
    level: str
    name: str


class TlsFacts(msgspec.Struct, kw_only=True):
    """The facts of a connection so far; strings are as the peers sent them.

    Attributes:
        client_speaks_tls, server_speaks_tls: None until that side has sent a record header's worth
            of bytes.
        version: the server's choice, such as `TLS 1.3`.
        offered_versions: the client's offer, best first.
        sni: the host name that the client asked for.
        cipher_suite: name of the server's choice, or its number, such as `0x000A`.
        alpn: application protocol that the server chose; in TLS 1.3 it takes keys to know.
        is_resumed: whether the server took up an earlier session; None until it chose.
        keys_found: whether the key log has secrets of this connection; None while it was not
            asked, because no key log was given, no hellos were seen or the cipher suite is not
            supported.
        alerts: the first of them, in order.
        application_records, application_bytes: records of type application data and their size
            without headers. In TLS 1.3 most of the handshake looks like that too.
        decrypted_records, decrypted_bytes: application data that was opened, and its size.
        unopened_records: of the application records, those that could not be opened.
        notes: the obstacles, for people; each once.
    """

    client_speaks_tls: bool | None = None
    server_speaks_tls: bool | None = None
    version: str | None = None
    offered_versions: tuple[str, ...] = ()
    sni: str | None = None
    cipher_suite: str | None = None
    alpn: str | None = None
    is_resumed: bool | None = None
    keys_found: bool | None = None
    alerts: list[Alert] = []
    application_records: int = 0
    application_bytes: int = 0
    decrypted_records: int = 0
    decrypted_bytes: int = 0
    unopened_records: int = 0
    notes: list[str] = []

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes and len(self.notes) < MAX_NOTES:
            self.notes.append(text)

    def add_alert(self, body: bytes, *, is_client: bool) -> None:
        """Remember an alert, given as the content of its record."""
        if len(self.alerts) < MAX_ALERTS:
            self.alerts.append(_read_alert(body, is_client=is_client))


def _read_alert(body: bytes, *, is_client: bool) -> Alert:
    if len(body) != _ALERT_BYTES:
        return Alert(is_client, "encrypted", "encrypted")
    level, number = body
    return Alert(is_client, _LEVELS.get(level, str(level)), _ALERTS.get(number, str(number)))
