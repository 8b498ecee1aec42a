import itertools
import ssl
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.tls.connection import Plaintext, TlsConnection
from kdiag.pcap.tls.direction import MAX_TRIALS, MAX_WAITING_BYTES, Epoch, TlsDirection
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.tls.record import RecordReader, TlsRecord
from recordings.tls_capture import Stretch, feed_all, joined
from secure_ends.tls_pair import Talk, make_peers
from secure_ends.tls_server import tls_server

TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
SAID = [
    Stretch(is_client=number % 2 == 0, data=bytes([number]) * size)
    for number, size in enumerate([30, 400, 1, 40_000, 3000, 17, 20, 9000, 20, 20, 500, 20])
]


class Sealed:
    """A cipher that opens a record whose payload begins with a key and the right number."""

    overhead_bytes = 3

    def __init__(self, key: int) -> None:
        self.key = key
        self.trials = 0

    def open(self, sequence: int, record: TlsRecord) -> tuple[int, bytes] | None:
        """Count the trial."""
        self.trials += 1
        fits = record.payload[:3] == bytes([self.key]) + sequence.to_bytes(2)
        return (23, record.payload[3:]) if fits else None


def direction_with(*ciphers: Sealed | None) -> TlsDirection:
    """Return a direction in the first of some epochs."""
    direction = TlsDirection(is_client=True)
    direction.prepare(Epoch(cipher, is_application=True) for cipher in ciphers)
    direction.begin_epoch()
    return direction


def records(*places: tuple[int, int], size: int = 50) -> list[TlsRecord]:
    """Return records one behind the other, given their keys and numbers."""
    return [
        TlsRecord(
            b"\x17\3\3" + (size + 3).to_bytes(2),
            bytes([key]) + number.to_bytes(2) + bytes(size),
            at * (size + 8),
            (at + 1) * (size + 8),
        )
        for at, (key, number) in enumerate(places)
    ]


def test_records_open_in_order_and_say_that_nothing_is_missing() -> None:
    """Each takes one trial."""
    cipher = Sealed(1)
    direction = direction_with(cipher)

    for record in records(*((1, number) for number in range(5))):
        assert direction.open(record) == (23, bytes(50))
        assert direction.pop_missing_bytes() == 0
    assert cipher.trials == 5


@given(lost=st.integers(1, 900), size=st.integers(14, 16_000), known=st.integers(0, 5))
def test_the_number_behind_a_gap_is_found_and_tells_how_much_is_missing(
    lost: int, size: int, known: int
) -> None:
    """However many records were in the gap, and whether or not some had shown their headers."""
    direction = direction_with(Sealed(1))
    all_records = records(*((1, number) for number in range(lost + known + 2)), size=size)
    first, cut, last = all_records[0], all_records[1 : 1 + known], all_records[-1]
    skipped_bytes = last.start - first.end - sum(record.end - record.start for record in cut)

    assert direction.open(first) == (23, bytes(size))
    for record in cut:
        assert direction.open(record._replace(payload=b"", is_whole=False)) is None
    assert direction.open(last._replace(skipped_bytes=skipped_bytes)) == (23, bytes(size))
    assert direction.pop_missing_bytes() == (lost + known) * size
    assert direction.pop_missing_bytes() == 0


def test_a_damaged_record_costs_itself_alone() -> None:
    """The next one has the next number, and how much was lost is known."""
    direction = direction_with(Sealed(1))

    outcomes = [
        (direction.open(record) is not None, direction.is_certain)
        for record in records((1, 0), (9, 1), (1, 2))
    ]

    assert outcomes == [(True, True), (False, False), (True, True)]
    assert direction.pop_missing_bytes() == 50


def test_a_change_of_keys_inside_a_gap_is_found() -> None:
    """If no number fits the key, the next key is tried; how much was lost is then unknown."""
    direction = direction_with(Sealed(1), Sealed(2), Sealed(3))
    *_, last = records((1, 0), (1, 1), (1, 2), (2, 0), (2, 1))

    direction.open(records((1, 0))[0])

    assert direction.open(last._replace(skipped_bytes=3 * 58)) is not None
    assert direction.epoch is not None
    assert isinstance(direction.epoch.cipher, Sealed)
    assert direction.epoch.cipher.key == 2
    assert direction.pop_missing_bytes() is None


def test_an_epoch_without_key_ends_when_the_next_key_fits() -> None:
    """A key log that lacks the secret of the handshake is still good for what follows."""
    direction = direction_with(None, Sealed(2))
    unknown, first, second = records((1, 0), (2, 0), (2, 1))

    assert [direction.open(record) is not None for record in (unknown, first, second)] == [
        False,
        True,
        True,
    ]


def test_trials_are_limited_until_a_record_opens_again() -> None:
    """Records that never fit, behind gap after gap, end the trying."""
    cipher = Sealed(1)
    direction = direction_with(cipher)

    for record in records(*[(9, 0)] * 100, size=1000):
        direction.open(record._replace(skipped_bytes=100_000))

    assert cipher.trials == MAX_TRIALS
    assert direction.has_given_up


def test_records_that_wait_are_bounded_and_those_dropped_leave_a_gap() -> None:
    """The oldest make room, and the first that stays knows how many bytes came before it."""
    direction = direction_with(Sealed(1))
    waiting = records(*((1, number) for number in range(20)), size=10_000)

    kept = [direction.wait(record) for record in waiting]
    left = direction.pop_waiting()

    assert kept == [True] * 6 + [False] * 14
    assert sum(len(record.payload) for record in left) <= MAX_WAITING_BYTES
    assert left[0].start == left[0].skipped_bytes
    assert all(direction.open(record) for record in left)
    assert direction.pop_waiting() == type(left)()


@pytest.fixture(scope="module", params=[TLS12, TLS13], ids=lambda version: version.name)
def talk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """Return a talk in each version."""
    return make_peers(tmp_path_factory.mktemp("talk"), version=request.param).talk(SAID)


class Truth:
    """What an undamaged talk holds, and where."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.plaintexts = feed_all(TlsConnection(KeyLog.parse(talk.keylog)), talk.wire)
        assert joined(self.plaintexts, is_client=True) == joined(SAID, is_client=True)
        self.places: dict[tuple[bool, int], tuple[int, bytes]] = {}
        positions = [0, 0]
        for is_client, data, start, *_ in self.plaintexts:
            self.places[is_client, start] = (positions[is_client], data)
            positions[is_client] += len(data)

    def listen(self, gap: tuple[bool, int, int]) -> list[Plaintext]:
        """Return what is understood if a stretch of one direction is missing."""
        connection = TlsConnection(KeyLog.parse(self.talk.keylog))
        found = []
        for is_client, part in with_gap(self.talk.wire, gap):
            if isinstance(part, int):
                connection.gap(part, is_client=is_client)
            else:
                found += connection.feed(part, is_client=is_client)
        return found

    def check_places(self, found: Iterable[Plaintext]) -> None:
        """Check that what is said to be missing leads to the right place in the plaintext."""
        positions = [0, 0]
        for is_client, data, start, _, missing_bytes in found:
            position, whole = self.places[is_client, start]
            assert data == whole
            assert missing_bytes in (None, position - positions[is_client])
            positions[is_client] = position + len(data)


def with_gap(
    wire: Iterable[Stretch], gap: tuple[bool, int, int]
) -> Iterator[tuple[bool, bytes | int]]:
    """Yield the stretches of a talk, with the size of the gap where bytes are missing."""
    side, first, last = gap
    offsets = [0, 0]
    for is_client, data in wire:
        start = offsets[is_client]
        end = offsets[is_client] = start + len(data)
        if is_client != side or end <= first or start >= last:
            yield is_client, data
            continue
        yield is_client, data[: max(first - start, 0)]
        yield is_client, min(last, end) - max(first, start)
        yield is_client, data[max(last - start, 0) :] if last < end else b""


@given(is_client=st.booleans(), place=st.floats(0, 1), size=st.integers(1, 30_000))
def test_a_gap_costs_only_the_records_that_it_touches(
    talk: Talk, place: float, size: int, *, is_client: bool
) -> None:
    """All others are read, and it is known how much is missing between them."""
    truth = Truth(talk)
    own = [each for each in truth.plaintexts if each.is_client == is_client]
    first = own[0].end + int(place * (own[-1].start - own[0].end))

    found = truth.listen((is_client, first, first + size))

    assert found == [
        each._replace(missing_bytes=found[at].missing_bytes)
        for at, each in enumerate(
            each
            for each in truth.plaintexts
            if each.is_client != is_client or each.end <= first or each.start >= first + size
        )
    ]
    truth.check_places(found)
    assert None not in [each.missing_bytes for each in found]


@given(is_client=st.booleans(), first=st.integers(0, 3000), size=st.integers(1, 5000))
def test_a_gap_in_the_handshake_never_gives_wrong_places(
    talk: Talk, first: int, size: int, *, is_client: bool
) -> None:
    """If the hellos are whole, it may cost nothing; if not, it costs everything."""
    truth = Truth(talk)

    truth.check_places(truth.listen((is_client, first, first + size)))


def test_a_lost_certificate_costs_nothing(talk: Talk) -> None:
    """What follows the handshake is read as long as the hellos are known."""
    truth = Truth(talk)
    hello = RecordReader().feed(joined(talk.wire, is_client=False))[0]

    found = truth.listen((False, hello.end + 20, hello.end + 600))

    assert [(each.is_client, each.data) for each in found] == [
        (each.is_client, each.data) for each in truth.plaintexts
    ]


def test_a_lost_change_of_cipher_spec_is_noticed(tmp_path: Path) -> None:
    """In TLS 1.2, application data show that keys are in use."""
    truth = Truth(make_peers(tmp_path, version=TLS12).talk(SAID))
    reader = RecordReader()
    handshake = itertools.takewhile(
        lambda record: record.kind != 23, reader.feed(joined(truth.talk.wire, is_client=True))
    )
    change, finished = list(handshake)[-2:]

    lost_both = truth.listen((True, change.start, finished.end))
    lost_one = truth.listen((True, change.start + 5, change.end))

    assert (change.kind, finished.kind) == (20, 22)
    assert [each.data for each in lost_both] == [each.data for each in truth.plaintexts]
    assert [each.data for each in lost_one] == [each.data for each in truth.plaintexts]


@pytest.mark.thorough
def test_a_lost_key_update_is_noticed(
    tmp_path: Path, require_programs: Callable[..., None]
) -> None:
    """The records behind the gap fit the next key."""
    require_programs("openssl")
    with tls_server(tmp_path) as server:
        server.say(b"before")
        server.update_keys()
        server.say(b"after")
    update = server.wire[-2].data
    connection = TlsConnection(KeyLog.parse(server.keylog()))

    before = feed_all(connection, server.wire[:-2])
    connection.gap(len(update), is_client=False)
    after = feed_all(connection, server.wire[-1:])

    assert [each.data for each in before + after] == [b"before\n", b"after\n"]
    assert after[0].missing_bytes is None


def test_early_data_are_passed_over_and_named(tmp_path: Path) -> None:
    """Records before the client's Finished that its keys do not open are early data."""
    talk = make_peers(tmp_path).talk(SAID)
    hello = talk.wire[0].data
    extension = b"\0\x2a\0\0"
    body = bytearray(hello[9:] + extension)
    at = 34 + 1 + body[34]
    at += 2 + int.from_bytes(body[at : at + 2])
    at += 1 + body[at]
    body[at : at + 2] = (len(body) - at - 2).to_bytes(2)
    message = b"\1" + len(body).to_bytes(3) + body
    early = b"\x17\3\3\0\x64" + bytes(100)
    begin = Stretch(is_client=True, data=b"\x16\3\1" + len(message).to_bytes(2) + message + early)
    connection = TlsConnection(KeyLog.parse(talk.keylog))

    found = feed_all(connection, [begin, *talk.wire[1:]])

    assert joined(found, is_client=True) == joined(SAID, is_client=True)
    assert [each.missing_bytes for each in found if each.is_client][:2] == [None, 0]
    assert connection.facts.notes == ["the client sent early data, which is not decrypted"]
    assert connection.facts.unopened_records == 1
