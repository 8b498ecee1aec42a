"""One direction of a TLS connection: its records opened in order, whatever is lost in between.

How it works. A direction lives through epochs, in each of which one key protects it: none at all,
then that of the handshake (TLS 1.3), then those of the application data. Within an epoch records
are numbered from 0, and the number is part of what authenticates a record, though it is not sent.

While nothing is lost, the next record has the next number. Behind a loss, it is found by trial:
the bytes that are missing could have been so many records, so the number is one of so many; or the
epoch has changed meanwhile, and the next key fits. The first number that authenticates the record
is the right one. It tells, too, how many records were lost, and thereby how many bytes of content:

    a loss begins at byte 1000, where record 7 would start; the next record that can be made out
    starts at byte 5000 and proves to be record 9; a record of this cipher is 5 + 24 bytes longer
    than its content: 4000 - 2 * 29 = 3942 bytes of content are missing.

Trials are limited: a capture whose records never fit (damaged, or made for it) costs no more than
`MAX_TRIALS` failures in a row.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from kdiag.pcap.tls.handshake import HandshakeReader
from kdiag.pcap.tls.record import (
    APPLICATION_DATA,
    HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    RecordReader,
    TlsRecord,
)

MAX_TRIALS: Final = 4096
MAX_SKIPPED_RECORDS: Final = 1024
MAX_WAITING_BYTES: Final = 64 << 10
_LEAST_RECORD_BYTES: Final = 22
_MOST_RECORD_BYTES: Final = HEADER_BYTES + MAX_PAYLOAD_BYTES
_SKIPPED_WITH_THE_HANDSHAKE: Final = 64


class RecordCipher(Protocol):
    """Opens the records of one direction while one key is in use."""

    @property
    def overhead_bytes(self) -> int | None:
        """How many bytes longer a payload is than its content; None if that differs."""

    def open(self, sequence: int, record: TlsRecord) -> tuple[int, bytes] | None:
        """Return content type and content of a record, or None if it fails authentication."""


class Epoch(NamedTuple):
    """The time in which one key protects a direction.

    Attributes:
        cipher: opens its records; None if there is no key for it.
        is_application: whether application data is sent in it.
    """

    cipher: RecordCipher | None
    is_application: bool


class GivenEpochs(Iterator[Epoch]):
    """Epochs that are all known from the start."""

    def __init__(self, epochs: Iterable[Epoch]) -> None:
        self._left = deque(epochs)

    def __next__(self) -> Epoch:
        if not self._left:
            raise StopIteration
        return self._left.popleft()


class RecordLoss(NamedTuple):
    """Records that were not opened since the last one that was.

    Attributes:
        start: offset of the first byte of the first of them.
        sequence: its number.
        unknown_bytes: bytes that held an unknown number of records.
    """

    start: int
    sequence: int
    unknown_bytes: int


class TlsDirection:
    """The records of one direction, and where in its epochs they are.

    Attributes:
        is_client: whether the client sends them.
        reader: cuts the bytes into records.
        handshake: joins the handshake messages of this epoch.
        waiting: records that cannot be read until both hellos are known.
        epoch: which key protects the records; None while none does.
        skips_early_data: whether records that come before the first of the handshake's epoch are
            early data, whose key is another one.
    """

    def __init__(self, *, is_client: bool) -> None:
        self.is_client = is_client
        self.reader = RecordReader()
        self.handshake = HandshakeReader()
        self.waiting: deque[TlsRecord] = deque()
        self.epoch: Epoch | None = None
        self.skips_early_data = False
        self._epochs: Iterator[Epoch] = GivenEpochs(())
        self._next_epoch: Epoch | None = None
        self._sequence = 0
        self._loss: RecordLoss | None = None
        self._trials_left = MAX_TRIALS
        self._missing_bytes: int | None = 0
        self._has_data = False
        self._waiting_bytes = 0

    @property
    def is_certain(self) -> bool:
        """Return whether the next record is known to be the next of this epoch."""
        return self._loss is None and self.epoch is not None and self.epoch.cipher is not None

    @property
    def has_given_up(self) -> bool:
        """Return whether so many trials have failed that no more are made."""
        return self._trials_left <= 0

    def prepare(self, epochs: Iterable[Epoch]) -> None:
        """Lay the epochs ready that will begin one after another."""
        self._epochs = epochs if isinstance(epochs, Iterator) else GivenEpochs(epochs)
        self._next_epoch = next(self._epochs, None)

    def begin_epoch(self) -> None:
        """Go on with the next key, or without one if there is none."""
        self.epoch = self._next_epoch or Epoch(cipher=None, is_application=True)
        self._next_epoch = next(self._epochs, None)
        self._sequence = 0
        self._loss = None
        self.handshake = HandshakeReader()

    def begin_missed_epoch(self, record: TlsRecord) -> None:
        """Go on with the next key, when this record shows that the change of keys was missed."""
        self.begin_epoch()
        self._loss = RecordLoss(record.start, 0, _SKIPPED_WITH_THE_HANDSHAKE * _LEAST_RECORD_BYTES)

    def wait(self, record: TlsRecord) -> bool:
        """Keep a record for later; return false if an older one was dropped for it."""
        self.waiting.append(record)
        self._waiting_bytes += len(record.payload)
        has_room = self._waiting_bytes <= MAX_WAITING_BYTES
        while self._waiting_bytes > MAX_WAITING_BYTES:
            dropped, oldest = self.waiting.popleft(), self.waiting[0]
            self._waiting_bytes -= len(dropped.payload)
            skipped_bytes = oldest.start - dropped.start + dropped.skipped_bytes
            self.waiting[0] = oldest._replace(skipped_bytes=skipped_bytes)
        return has_room

    def pop_waiting(self) -> deque[TlsRecord]:
        """Return the records that wait, and let none wait any more."""
        waiting, self.waiting = self.waiting, deque()
        self._waiting_bytes = 0
        return waiting

    def open(self, record: TlsRecord) -> tuple[int, bytes] | None:
        """Return content type and content of a protected record, or None if it cannot be opened."""
        if record.skipped_bytes:
            self._lose(record.start - record.skipped_bytes, record.skipped_bytes)
        if record.is_whole:
            for epoch, sequence in self._candidates():
                assert epoch.cipher is not None
                content = epoch.cipher.open(sequence, record)
                if content is not None:
                    self._find_place(epoch, sequence, record)
                    self._has_data = self._has_data or content[0] == APPLICATION_DATA
                    return content
                self._trials_left -= 1
        if self.skips_early_data:
            self._missing_bytes = None
        else:
            self._lose(record.start, 0)
            self._sequence += 1
        return None

    def pop_missing_bytes(self) -> int | None:
        """Return how much content was lost since this was asked last; None if that is unknown."""
        missing_bytes, self._missing_bytes = self._missing_bytes, 0
        return missing_bytes

    def _candidates(self) -> Iterator[tuple[Epoch, int]]:
        """Yield the places that the next record may have: epoch and number, most likely first."""
        unknown_bytes = self._loss.unknown_bytes if self._loss else 0
        least = -(-unknown_bytes // _MOST_RECORD_BYTES)
        most = min(unknown_bytes // _LEAST_RECORD_BYTES, least + MAX_SKIPPED_RECORDS)
        places = [(self.epoch, range(self._sequence + least, self._sequence + most + 1))]
        if not self.is_certain:
            places.append((self._next_epoch, range(most + 1)))
        for epoch, sequences in places:
            if epoch is not None and epoch.cipher is not None:
                for sequence in sequences:
                    if self.has_given_up:
                        return
                    yield epoch, sequence

    def _find_place(self, epoch: Epoch, sequence: int, record: TlsRecord) -> None:
        """Note the place of an opened record, and so of those before it."""
        if epoch is self._next_epoch:
            if sequence or (self.epoch and self.epoch.is_application):
                self._missing_bytes = None
            self.begin_epoch()
        elif self._loss is not None and epoch.is_application:
            self._count_missing(epoch, self._loss, sequence, record)
        self._sequence = sequence + 1
        self._loss = None
        self._trials_left = MAX_TRIALS
        self.skips_early_data = False

    def _count_missing(
        self, epoch: Epoch, loss: RecordLoss, sequence: int, record: TlsRecord
    ) -> None:
        """Add up how much content a loss has cost.

        What comes before the first application data is unlikely to be any: it ends the handshake,
        or is a session ticket.
        """
        overhead_bytes = epoch.cipher.overhead_bytes if epoch.cipher else None
        if self._missing_bytes is None or overhead_bytes is None or not self._has_data:
            self._missing_bytes = None
            return
        lost_records = sequence - loss.sequence
        size = record.start - loss.start - lost_records * (HEADER_BYTES + overhead_bytes)
        self._missing_bytes = self._missing_bytes + size if size >= 0 else None

    def _lose(self, start: int, unknown_bytes: int) -> None:
        loss = self._loss or RecordLoss(start, self._sequence, 0)
        self._loss = loss._replace(unknown_bytes=loss.unknown_bytes + unknown_bytes)
