"""A recorded TLS connection, decrypted with a key log: a machine that bytes are fed to.

    connection = TlsConnection(KeyLog.parse(Path("kafka.keylog").read_bytes()))
    for plaintext in connection.feed(data, is_client=True):
        ...
    print(connection.facts.version, connection.facts.sni)

How it works. Each direction is cut into records (`record`); those in the clear carry the handshake
(`handshake`). Once both hellos are known, the key log is searched for the secrets of the client
random, and both directions get their keys (`keys`), used one epoch after another (`direction`):

    TLS 1.2   in the clear -> application data (from ChangeCipherSpec on)
    TLS 1.3   in the clear -> handshake (from ServerHello on) -> application data (after
              Finished) -> application data with another key (after each KeyUpdate) ...

Records of an epoch are opened by `cipher`. Whatever is missing or wrong, nothing is raised and
`facts` holds the rest: without keys, who wanted to reach whom, by which version, how many records
went by and which alerts.

Source: RFC 8446 (TLS 1.3), RFC 5246 (TLS 1.2).
"""

from collections.abc import Callable, Mapping
from typing import ClassVar, Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.pcap.tls.direction import MAX_WAITING_BYTES, TlsDirection
from kdiag.pcap.tls.facts import TlsFacts
from kdiag.pcap.tls.handshake import (
    CLIENT_HELLO,
    ENCRYPTED_EXTENSIONS,
    FINISHED,
    KEY_UPDATE,
    SERVER_HELLO,
    TLS13,
    ClientHello,
    Message,
    ServerHello,
    name_version,
    read_client_hello,
    read_encrypted_extensions,
    read_server_hello,
)
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.tls.keys import find_epochs
from kdiag.pcap.tls.record import (
    ALERT,
    APPLICATION_DATA,
    CHANGE_CIPHER_SPEC,
    HANDSHAKE,
    HEADER_BYTES,
    TlsRecord,
)
from kdiag.pcap.tls.suite import name_suite

_SIDES: Final = ("server", "client")


class Plaintext(NamedTuple):
    """Application data that one record carried.

    Attributes:
        is_client: whether the client sent it.
        data: the decrypted bytes.
        start: offset of the record's first byte in the bytes fed to its direction, from 0.
        end: offset behind its last byte.
        missing_bytes: how much application data was lost right before it; None if that is not
            known. Where it is neither 0 nor None, it is right if the lost records were application
            data without padding, which holds but for a few.
    """

    is_client: bool
    data: bytes
    start: int
    end: int
    missing_bytes: int | None


class TlsConnection:
    """One connection, of which bytes go in and application data comes out.

    Both directions are fed in about the order in which their bytes were captured; records that
    come too early for their keys wait.

    Attributes:
        facts: the facts so far.
    """

    def __init__(self, keylog: KeyLog | None = None) -> None:
        """Begin with a connection of which no byte was seen.

        Args:
            keylog: where to look for the secrets as soon as both hellos are known; until then more
                may be added to it.
        """
        self.facts = TlsFacts()
        self._keylog = keylog
        self._directions = (TlsDirection(is_client=False), TlsDirection(is_client=True))
        self._client_hello: ClientHello | None = None
        self._server_hello: ServerHello | None = None
        self._is_tls13 = False
        self._plaintexts: list[Plaintext] = []

    @property
    def is_unreadable(self) -> bool:
        """Return whether the protection is known, and no key for either direction."""
        return self._is_agreed() and all(
            each.epoch is not None and each.epoch.cipher is None for each in self._directions
        )

    def feed(self, data: bytes, *, is_client: bool) -> list[Plaintext]:
        """Return the application data that these bytes make readable, of either direction.

        Args:
            data: the next bytes of a direction, in the order of the stream.
            is_client: whether the client sent them.
        """
        direction = self._directions[is_client]
        for record in direction.reader.feed(data):
            self._count(record)
            self._handle_record(direction, record)
        self._note_framing(direction)
        plaintexts, self._plaintexts = self._plaintexts, []
        return plaintexts

    def gap(self, missing_bytes: int, *, is_client: bool) -> None:
        """Go on behind bytes of a direction that the capture does not hold.

        Args:
            missing_bytes: how many. 0 says that it is not known where in a record the next byte
                is: so begins a connection that is older than its capture.
            is_client: whether the client sent them.
        """
        direction = self._directions[is_client]
        direction.handshake.lose_track()
        lost = direction.reader.gap(missing_bytes)
        if lost is not None:
            self._count(lost)
            self._handle_record(direction, lost)

    def _count(self, record: TlsRecord) -> None:
        if record.kind == APPLICATION_DATA:
            self.facts.application_records += 1
            self.facts.application_bytes += record.end - record.start - HEADER_BYTES

    def _note_framing(self, direction: TlsDirection) -> None:
        """Note whether a direction speaks TLS at all, and where it stopped."""
        side, reader = _SIDES[direction.is_client], direction.reader
        if direction.is_client:
            self.facts.client_speaks_tls = reader.is_tls
        else:
            self.facts.server_speaks_tls = reader.is_tls
        if reader.is_tls is False:
            self.facts.note(f"the {side} does not speak TLS")
        if reader.broken_at is not None:
            self.facts.note(f"byte {reader.broken_at} of the {side} should begin a TLS record")

    def _is_agreed(self) -> bool:
        """Return whether both hellos are known, and with them the protection of the records."""
        return self._client_hello is not None and self._server_hello is not None

    def _handle_record(self, direction: TlsDirection, record: TlsRecord) -> None:
        """Read a record, or let it wait for the other side's hello."""
        if record.skipped_bytes:
            direction.handshake.lose_track()
        if self._must_wait(direction, record):
            if not direction.wait(record):
                side, size = _SIDES[not direction.is_client], MAX_WAITING_BYTES >> 10
                self.facts.note(f"{size} KiB were encrypted before the {side}'s hello came")
        elif direction.epoch is not None and (
            record.kind == APPLICATION_DATA or not self._is_tls13
        ):
            self._read_protected(direction, record)
        else:
            self._read_clear(direction, record)

    def _must_wait(self, direction: TlsDirection, record: TlsRecord) -> bool:
        """Return whether only the other side's hello, which may still come, makes this readable.

        It has usually come before; but packets are not always captured in the order in which they
        were sent.
        """
        if self._keylog is None or self._is_agreed() or not self._has_greeted(direction):
            return False
        return bool(direction.waiting) or record.kind in (CHANGE_CIPHER_SPEC, APPLICATION_DATA)

    def _has_greeted(self, direction: TlsDirection) -> bool:
        hello = self._client_hello if direction.is_client else self._server_hello
        return hello is not None

    def _read_clear(self, direction: TlsDirection, record: TlsRecord) -> None:
        """Read a record of the time before keys are in use."""
        if record.kind in (CHANGE_CIPHER_SPEC, APPLICATION_DATA):
            self._read_change_of_keys(direction, record)
        elif record.is_whole:
            self._read_content(direction, record, record.kind, record.payload)
        else:
            direction.handshake.lose_track()

    def _read_change_of_keys(self, direction: TlsDirection, record: TlsRecord) -> None:
        """Read a record which shows that records are protected from now on, or already were."""
        changes = self._is_agreed() and not self._is_tls13
        if record.kind == CHANGE_CIPHER_SPEC and changes:
            direction.begin_epoch()
        elif record.kind == APPLICATION_DATA and changes:
            direction.begin_missed_epoch(record)
            self._read_protected(direction, record)
        elif record.kind == APPLICATION_DATA:
            self.facts.unopened_records += 1
            if not self._has_greeted(direction):
                side = _SIDES[direction.is_client]
                self.facts.note(f"the handshake was not captured from its start: no {side} hello")

    def _read_protected(self, direction: TlsDirection, record: TlsRecord) -> None:
        was_certain = direction.is_certain and not record.skipped_bytes
        skips_early_data = direction.skips_early_data
        opened = direction.open(record)
        if opened is not None:
            self._read_content(direction, record, *opened)
            return
        self.facts.unopened_records += record.kind == APPLICATION_DATA
        side = _SIDES[direction.is_client]
        if record.kind == ALERT:
            self.facts.add_alert(b"", is_client=direction.is_client)
        if skips_early_data:
            self.facts.note("the client sent early data, which is not decrypted")
        elif was_certain and record.is_whole:
            self.facts.note(f"the {side}'s record at byte {record.start} fails authentication")
        elif direction.has_given_up:
            self.facts.note(f"since a loss, no record of the {side} can be opened any more")

    def _read_content(
        self, direction: TlsDirection, record: TlsRecord, kind: int, content: bytes
    ) -> None:
        """Read the content of a record, in the clear or opened."""
        if kind == HANDSHAKE:
            for message in direction.handshake.feed(content):
                self._read_message(direction, message)
        elif kind == ALERT:
            self.facts.add_alert(content, is_client=direction.is_client)
        elif kind == CHANGE_CIPHER_SPEC:  # protected itself: TLS 1.2 after a second handshake
            direction.begin_epoch()
        elif kind == APPLICATION_DATA and content:
            self.facts.decrypted_records += 1
            self.facts.decrypted_bytes += len(content)
            missing_bytes = direction.pop_missing_bytes()
            self._plaintexts.append(
                Plaintext(direction.is_client, content, record.start, record.end, missing_bytes)
            )

    def _read_message(self, direction: TlsDirection, message: Message) -> None:
        read = self._MESSAGES.get(message.kind)
        if read is not None:
            try:
                read(self, direction, message.body)
            except DecodeError as error:
                self.facts.note(f"a handshake message is malformed: {error}")

    def _may_greet(self, direction: TlsDirection) -> bool:
        """Return whether a hello makes sense: the first, or one that TLS 1.2 has encrypted."""
        return not self._is_agreed() or (direction.epoch is not None and not self._is_tls13)

    def _read_client_hello(self, direction: TlsDirection, body: bytes) -> None:
        if not direction.is_client or not self._may_greet(direction):
            return
        is_first = self._client_hello is None
        hello = self._client_hello = read_client_hello(body)
        self.facts.sni = hello.sni
        self.facts.offered_versions = hello.versions
        if is_first and self._server_hello is not None:
            self._agree(hello, self._server_hello)

    def _read_server_hello(self, direction: TlsDirection, body: bytes) -> None:
        if direction.is_client or not self._may_greet(direction):
            return
        hello = read_server_hello(body)
        self._is_tls13 = hello.version == TLS13
        if hello.is_retry:
            return
        self._server_hello = hello
        self.facts.version = name_version(hello.version)
        self.facts.cipher_suite = name_suite(hello.suite)
        self.facts.alpn = hello.alpn
        if self._client_hello is not None:
            self._agree(self._client_hello, hello)

    def _agree(self, client: ClientHello, server: ServerHello) -> None:
        """Find the keys, now that both hellos are known, and read the records that waited."""
        resumes = server.session_id != b"" and server.session_id == client.session_id
        self.facts.is_resumed = server.chose_session if self._is_tls13 else resumes
        epochs = find_epochs(self._keylog, client, server, self.facts)
        for direction, following in zip(self._directions, epochs, strict=True):
            direction.prepare(following)
            if self._is_tls13:
                direction.begin_epoch()
                direction.skips_early_data = direction.is_client and client.offers_early_data
        for direction in self._directions:
            for record in direction.pop_waiting():
                self._handle_record(direction, record)

    def _read_encrypted_extensions(self, direction: TlsDirection, body: bytes) -> None:
        if self._is_tls13 and not direction.is_client:
            self.facts.alpn = read_encrypted_extensions(body)

    def _read_finished(self, direction: TlsDirection, _body: bytes) -> None:
        """Go on with the key for application data, unless a client has authenticated late."""
        if self._is_tls13 and direction.epoch is not None and not direction.epoch.is_application:
            direction.begin_epoch()

    def _read_key_update(self, direction: TlsDirection, _body: bytes) -> None:
        if self._is_tls13 and direction.epoch is not None and direction.epoch.is_application:
            direction.begin_epoch()

    _MESSAGES: ClassVar[Mapping[int, Callable[["TlsConnection", TlsDirection, bytes], None]]] = {
        CLIENT_HELLO: _read_client_hello,
        SERVER_HELLO: _read_server_hello,
        ENCRYPTED_EXTENSIONS: _read_encrypted_extensions,
        FINISHED: _read_finished,
        KEY_UPDATE: _read_key_update,
    }
