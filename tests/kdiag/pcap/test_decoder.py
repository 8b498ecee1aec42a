import gzip
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folders import CAPTURES, TLS_CAPTURES
from kdiag.clock import NS_PER_S
from kdiag.exchange.model import Connection, Exchange, Protocol, Status, UnansweredReason
from kdiag.pcap.decoder import CaptureDecoder, Item, decode_capture
from kdiag.pcap.files.pcapng import Secrets
from kdiag.pcap.memory_budget import Limits
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tcp.reassembly import Moment
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.wire.catalog import API_BY_KEY
from recordings.capture_writer import Section
from recordings.segment_tape import (
    ACK,
    BROKER,
    CLIENT,
    START_NS,
    SYN,
    Numbered,
    Segment,
    Talk,
    batch_of,
    batches,
    request,
    response,
    sized,
)
from tiers.cases import for_each
from tiers.sampling import IS_EXHAUSTIVE

_CLOUDED = ("drops", "midstream", "snaplen", "rotated", "lossy")


def decode(segments: Sequence[Segment], size: int = 1000, **options: Any) -> list[Item]:
    """Return what segments decode to, `size` of them in each batch."""
    decoder = CaptureDecoder(Numbered(), **options)
    items = [item for batch in batches(segments, size) for item in decoder.feed(batch)]
    return items + decoder.finish()


def exchanges(items: Iterable[Item]) -> list[Exchange]:
    """Return the exchanges by number."""
    found = [item for item in items if isinstance(item, Exchange)]
    return sorted(found, key=lambda exchange: exchange.number)


def connections(items: Iterable[Item]) -> list[Connection]:
    """Return the connections by number."""
    found = [item for item in items if isinstance(item, Connection)]
    return sorted(found, key=lambda connection: connection.number)


def plain(items: Iterable[Item]) -> list[Any]:
    """Return everything as plain values in one order, whichever order it came in."""
    values = [(type(item).__name__, msgspec.to_builtins(item)) for item in items]
    return sorted(values, key=lambda value: json.dumps(value, default=repr))


class OtherPart:
    """A recording with a packet of another part, two seconds after the first one's time."""

    def __init__(self, packet: int) -> None:
        self._late = Moment(packet, START_NS + 2 * NS_PER_S)

    def first_after(self, packet: int, time_ns: int) -> Moment | None:
        """Return that packet."""
        return self._late if self._late.packet > packet and self._late.time_ns > time_ns else None

    def last(self) -> Moment:
        """Return it, too."""
        return self._late

    def lag_ns(self, packet: int) -> int:
        """Return how much earlier than it those behind it are."""
        return 2 * NS_PER_S if packet > self._late.packet else 0


def chatter(seed: int, requests: int = 8) -> list[Segment]:
    """Return the segments of a few connections at once, each cut at random."""
    dice = random.Random(seed)
    talks = []
    for number in range(dice.randint(1, 3)):
        starts = (dice.choice([1000, 2**32 - 700]), dice.choice([5000, 2**32 - 90]))
        talk = Talk(CLIENT + number, BROKER, starts).open()
        correlation_id = dice.randint(0, 50)
        while correlation_id < 50 + requests:
            ids = range(correlation_id, correlation_id := correlation_id + dice.randint(1, 4))
            asked = b"".join(request(n, dice.randbytes(dice.choice([0, 9, 700]))) for n in ids)
            told = b"".join(response(n, dice.randbytes(dice.choice([0, 9, 700]))) for n in ids)
            talk.ask(asked, dice.choice([40, 150, 1460]))
            talk.tell(told, dice.choice([40, 150, 1460]))
        if dice.random() < 0.7:
            talk.close()
        talks.append(talk.segments)
    mixed = []
    while any(talks):
        mixed.append(dice.choice([talk for talk in talks if talk]).pop(0))
    return mixed


def disturbed(segments: list[Segment], dice: random.Random) -> list[Segment]:
    """Return what a bad network and a bad recorder make of segments."""
    found = list(segments)
    for _ in range(dice.randint(0, 6)):
        at = dice.randrange(len(found))
        match dice.randint(0, 4):
            case 0:
                del found[at]
            case 1:
                found.insert(dice.randrange(len(found)), found[at])
            case 2:
                found.insert(min(at + dice.randint(1, 9), len(found)), found.pop(at))
            case 3:
                found[at] = found[at].cut(dice.randint(0, 40))
            case _:
                found = found[dice.randint(0, 9) :] or found
    return found


@pytest.mark.thorough
@given(st.integers(0, 2**32))
def test_any_traffic_in_order_gives_every_request_with_its_response(seed: int) -> None:
    """However the bytes are cut, whatever connections are mixed, nothing is missed."""
    found = decode(chatter(seed))

    assert {each.pairing for each in exchanges(found)} == {Status.OK}
    for each in exchanges(found):
        assert each.request is not None
        assert each.response is not None
        assert each.request.is_whole
        assert each.response.is_whole
        assert each.response.data[:4] == each.request.data[4:8]
    numbers = [each.number for each in exchanges(found)]
    assert numbers == list(range(1, len(numbers) + 1))
    firsts = [each.request.first_packet for each in exchanges(found) if each.request]
    assert firsts == sorted(firsts)


@pytest.mark.thorough
@settings(max_examples=300 if IS_EXHAUSTIVE else 6)
@given(st.integers(0, 2**32))
def test_the_result_does_not_depend_on_the_size_of_the_blocks(seed: int) -> None:
    """Loss, reordering, repetition, cuts and a late start give the same values in any blocks."""
    dice = random.Random(seed)
    segments = disturbed(chatter(seed), dice)
    one, seven, all_at_once = (decode(segments, size) for size in (1, 7, 10_000))

    assert plain(one) == plain(all_at_once)
    assert plain(seven) == plain(all_at_once)


@pytest.mark.thorough
@given(st.integers(0, 2**32))
def test_reordering_and_repetition_lose_nothing(seed: int) -> None:
    """Without acknowledgments that pass a hole, any shuffle within a connection is put right."""
    dice = random.Random(seed)
    talk = Talk().open()
    numbers = range(1, 9)
    talk.ask(b"".join(request(n, dice.randbytes(200)) for n in numbers), 90)
    opening, data = talk.segments[:3], talk.segments[3:]
    shuffled = data + dice.sample(data, len(data) // 3)
    dice.shuffle(shuffled)
    answers = Talk()
    answers._next = list(talk._next)
    answers.tell(b"".join(response(n) for n in numbers))
    found = exchanges(decode(opening + shuffled + answers.segments, dice.choice([1, 5, 1000])))

    assert [each.correlation_id for each in found] == sorted(
        numbers, key=lambda n: _first(found, n)
    )
    assert all(
        each.pairing is Status.OK and each.request and each.request.is_whole for each in found
    )
    assert len(found) == len(numbers)


def _first(found: list[Exchange], correlation_id: int) -> int:
    """Return the number of the exchange with a correlation id."""
    return next(each.number for each in found if each.correlation_id == correlation_id)


def test_a_reused_4_tuple_is_a_new_connection() -> None:
    """Its SYN has another sequence number; equal correlation ids do not meet."""
    first = Talk().open().ask(request(1, b"old"))
    second = Talk(starts=(900_000, 800_000)).open().ask(request(1, b"new")).tell(response(1))
    found = decode(first.segments + second.segments)

    assert [each.close_reason for each in connections(found)] == ["reused", "end of capture"]
    old, new = exchanges(found)
    assert (old.pairing, new.pairing) == (Status.UNANSWERED, Status.OK)
    assert (old.connection.number, new.connection.number) == (1, 2)


def test_an_idle_connection_is_ended_and_goes_on_as_another() -> None:
    """What was open in it is told as at the end of a capture."""
    quiet = Talk().open().ask(request(1)).tell(response(1)).ask(request(2))
    count = len(quiet.segments)
    busy = Talk(CLIENT + 1).open().ask(request(7)).tell(response(7))
    quiet.ask(request(3)).tell(response(3))
    tape = [*quiet.segments[:count], *busy.segments, *quiet.segments[count:]]
    first, second = batches(tape, count + len(busy.segments))
    decoder = CaptureDecoder(Numbered())
    items = decoder.feed(first)
    assert decoder.end_idle(int(first.time_ns[0])) == []
    ended = decoder.end_idle(int(first.time_ns[count]))
    items += [*ended, *decoder.feed(second), *decoder.finish()]

    assert [each.close_reason for each in connections(ended)] == ["idle"]
    assert [each.pairing for each in exchanges(ended)] == [Status.UNANSWERED]
    assert [each.correlation_id for each in exchanges(items)] == [1, 2, 7, 3]
    assert [each.close_reason for each in connections(items)] == [
        "idle",
        "end of capture",
        "end of capture",
    ]


def paused(segments: Sequence[Segment], at: int, hours: float, size: int) -> list[Item]:
    """Return what segments decode to if so much time passes before one of them."""
    decoder = CaptureDecoder(Numbered())
    items: list[Item] = []
    for batch in batches(segments, size):
        batch.time_ns[batch.packet > at] += int(hours * 3600 * NS_PER_S)
        items += decoder.feed(batch)
    return items + decoder.finish()


@pytest.mark.thorough
@for_each("size", [1, 2, 50, 1000])
def test_what_goes_on_after_an_hour_of_silence_continues_another_connection(size: int) -> None:
    """Its client is known, though no SYN told; other connections end an early one's memory."""
    talk = Talk(client=BROKER, broker=CLIENT).open().ask(request(1)).tell(response(1))
    begun = len(talk.segments)
    talk.ask(request(2)).tell(response(2))
    busy = Talk(CLIENT + 1).open()
    for number in range(80):
        busy.ask(request(number)).tell(response(number))
    tape = [*talk.segments[:begun], *busy.segments, *talk.segments[begun:]]

    (whole, other) = connections(paused(tape, begun, 0.9, size))
    assert (whole.requests, whole.close_reason, other.requests) == (2, "end of capture", 80)
    found = paused(tape, begun, 1.1, size)
    first, other, second = connections(found)
    assert [each.close_reason for each in (first, other, second)] == [
        "idle",
        *["end of capture"] * 2,
    ]
    assert (first.requests, second.requests) == (1, 1)
    assert (first.continues, second.continues) == (None, first.connection_id)
    assert second.client == first.client
    assert plain(found) == plain(paused(tape, begun, 1.1, 7))


def test_a_connection_that_is_silent_until_the_end_is_idle() -> None:
    """Its request waits no more: nobody saw its end; a SYN later begins another."""
    talk = Talk().open().ask(request(1))
    begun = len(talk.segments)
    again = Talk(starts=(77_000, 88_000)).open().ask(request(2)).tell(response(2))
    other = Talk(CLIENT + 1).open().ask(request(7)).tell(response(7))
    for tape in (other.segments, again.segments):
        found = paused([*talk.segments, *tape], begun, 2, 1000)
        first, second = connections(found)
        assert (first.close_reason, second.continues) == ("idle", None)
        assert exchanges(found)[0].unanswered_reason is UnansweredReason.END_NOT_CAPTURED


def test_a_syn_that_is_sent_again_is_the_same_connection() -> None:
    """The number is the same."""
    talk = Talk().open()
    segments = [talk.segments[0], *talk.segments]

    assert len(connections(decode(segments))) == 1


def test_a_reset_ends_the_connection_and_its_payload_is_no_stream() -> None:
    """Some systems explain a reset in text."""
    talk = Talk().open().ask(request(1)).tell(response(1)).ask(request(2))
    talk.send(1, b"no", flags=4 | 16)
    found = decode(talk.segments)

    assert [each.pairing for each in exchanges(found)] == [Status.OK, Status.UNANSWERED]
    assert [each.close_reason for each in connections(found)] == ["rst"]
    assert connections(found)[0].response_bytes == len(response(1))


@pytest.mark.parametrize("is_before", [True, False])
def test_packets_of_other_parts_say_when_a_closed_connection_is_over(*, is_before: bool) -> None:
    """Also one that comes before a packet with an early time."""
    segments = Talk().open().ask(request(1)).tell(response(1)).close().segments
    count = len(segments)
    other = OtherPart(count + 1 if is_before else count + 3)
    decoder = CaptureDecoder(Numbered(), recording=other)
    found = decoder.feed(batch_of(segments))
    found += decoder.feed(batch_of([segments[3]], count + 2))
    found += decoder.finish()

    assert [each.requests for each in connections(found)] == ([1, 1] if is_before else [1])
    assert connections(found)[0].duplicates == (not is_before)


def test_bytes_in_a_fin_segment_count() -> None:
    """A FIN may carry the last bytes."""
    talk = Talk().open().ask(request(1))
    talk.send(1, response(1), flags=1 | 16)
    talk.send(0, flags=1 | 16)
    found = decode(talk.segments)

    assert [each.pairing for each in exchanges(found)] == [Status.OK]
    assert [each.close_reason for each in connections(found)] == ["fin"]


def test_a_connection_without_a_byte_is_empty() -> None:
    """Health checks connect and close."""
    found = decode(Talk().open().close().segments)

    assert [each.protocol for each in connections(found)] == [Protocol.EMPTY]


def test_a_connection_ends_soon_after_it_was_closed() -> None:
    """It is handed over when packets much later come, not only at the end of the capture."""
    closed = Talk().open().ask(request(1)).tell(response(1)).close()
    later = Talk(CLIENT + 1).open()
    for number in range(2000):
        later.ask(request(number))
    decoder = CaptureDecoder(Numbered())
    early = [
        item
        for batch in batches(closed.segments + later.segments, 100)
        for item in decoder.feed(batch)
    ]

    assert [each.number for each in connections(early)] == [1]
    assert connections(decoder.finish())[0].number == 2


@pytest.mark.thorough
def test_a_late_echo_of_an_ended_connection_is_no_new_one() -> None:
    """A SYN or bytes on the same 4-tuple are."""
    ended = Talk().open().ask(request(1)).tell(response(1)).close()
    busy = Talk(CLIENT + 1).open()
    for number in range(1100):
        busy.ask(request(number))
    echo = [ended.segments[-1]]
    again = Talk(starts=(900_000, 800_000)).ask(request(2)).segments
    segments = ended.segments + busy.segments + echo + again

    for size in (7, 10_000):
        found = connections(decode(segments, size))
        assert [each.requests for each in found] == [1, 1100, 1]
        assert [each.close_reason for each in found] == ["fin", *["end of capture"] * 2]


def test_packets_right_after_the_end_still_belong_to_the_connection() -> None:
    """What was under way when one end gave up was sent all the same."""
    talk = Talk().open().ask(request(1))
    talk.send(1, flags=4 | 16)
    talk.ask(request(2))
    (connection,) = connections(decode(talk.segments, 1))

    assert (connection.requests, connection.close_reason) == (2, "rst")


def test_named_ports_are_kafka_whatever_the_bytes_look_like() -> None:
    """The user knows better."""
    odd = sized(b"\x03\xff\x00\x00" + b"\0\0\0\x07" + b"\0\x01\x01")
    segments = Talk().open().ask(odd).tell(response(7)).segments

    assert exchanges(decode(segments)) == []
    (found,) = exchanges(decode(segments, ports={9092}))
    assert (found.api_key, found.correlation_id, found.pairing) == (0x3FF, 7, Status.OK)


def test_the_end_that_asks_is_the_client_whatever_its_port() -> None:
    """Brokers speak to each other from listener ports and to them."""
    talk = Talk(BROKER, CLIENT).open().ask(request(1)).tell(response(1))
    (found,) = connections(decode(talk.segments))

    assert (found.client, found.broker) == (hex(BROKER), hex(CLIENT))


def test_without_a_syn_the_end_with_requests_is_the_client() -> None:
    """Ports tell nothing, the bytes do."""
    talk = Talk(BROKER, CLIENT)
    for number in range(3):
        talk.ask(request(number)).tell(response(number))
    items = decode(talk.segments)

    assert connections(items)[0].client == hex(BROKER)
    assert [each.pairing for each in exchanges(items)] == [Status.OK] * 3


def test_memory_stays_bounded_when_nothing_is_answered() -> None:
    """A capture of one side alone gives up the oldest requests as it goes."""
    talk = Talk().open()
    for number in range(50):
        talk.ask(request(number))
    decoder = CaptureDecoder(Numbered(), limits=Limits(max_outstanding=10))
    early = [item for batch in batches(talk.segments) for item in decoder.feed(batch)]

    assert [each.number for each in exchanges(early)] == list(range(1, 41))
    assert len(exchanges(decoder.finish())) == 10


@pytest.mark.thorough
def test_an_open_hole_holds_nobody_up_for_ever() -> None:
    """After some thousand packets the others go on, in the same order in any blocks."""
    waiting = Talk(CLIENT + 1).open()
    waiting.ask(request(1, b"x" * 3000), 1000)
    del waiting.segments[3]
    busy = Talk().open()
    for number in range(5000):
        busy.ask(request(number))
    segments = waiting.segments + busy.segments + Talk(CLIENT + 2).open().segments
    decoder = CaptureDecoder(Numbered())
    early = [item for batch in batches(segments, 500) for item in decoder.feed(batch)]
    decoder._collector.max_outstanding = 10_000

    assert decoder.counts.exchanges > 0
    assert early == []
    assert len(exchanges(decoder.finish())) == 5000


def test_nothing_in_gives_nothing_out() -> None:
    """A capture may have no TCP at all."""
    assert decode([]) == []


def _kafka_captures(reference: Path) -> list[Path]:
    """Return the captures in good weather of which the frames were counted."""
    paths = sorted((reference / "captures").glob("*.json"))
    return [
        path
        for path in paths
        if not any(word in path.name for word in _CLOUDED)
        and "requests" in json.loads(path.read_text())["frames"]
    ]


def _opened_by(path: Path) -> set[str]:
    """Return the ends that a capture shows opening a connection."""
    reader = CaptureReader([path])
    found: set[str] = set()
    for batch in reader.read_segments():
        opening = batch.source[(batch.flags & (SYN | ACK)) == SYN]
        found.update(map(reader.addresses.endpoint_text, opening.tolist()))
    return found


@pytest.mark.thorough
def test_recorded_captures_give_the_frames_that_were_counted_in_them(reference: Path) -> None:
    """Requests by API and version, responses, unanswered requests and connections agree."""
    captures = _kafka_captures(reference)

    for truth_path in captures:
        truth = json.loads(truth_path.read_text())
        frames, ports = truth["frames"], {str(port) for port in truth["kafka_ports"]}
        (path,) = truth_path.parent.glob(truth_path.stem + ".pcap*")
        items = list(decode_capture([path]))
        counted = [each for each in connections(items) if _ports(each) & ports]
        assert len(counted) == frames["connections"], path
        found = exchanges(items)
        assert [each.number for each in found] == list(range(1, len(found) + 1)), path
        opened = _opened_by(path)
        seen = [each for each in found if each.connection.client in opened]
        assert Status.UNMATCHED not in {each.pairing for each in seen}, path
        assert _by_api(seen) == frames["requests_by_api"], path
        assert sum(map(_is_answered, seen)) == frames["responses"], path
        unanswered = [each for each in seen if not _is_answered(each)]
        assert _by_api(unanswered) == frames["requests_without_response"], path
    assert len(captures) > 60


def _ports(connection: Connection) -> set[str]:
    return {end.rpartition(":")[2] for end in (connection.client, connection.broker)}


def _by_api(found: Iterable[Exchange]) -> Counter[str]:
    """Count exchanges as the ground truth does."""
    names = (
        f"{API_BY_KEY[each.api_key].name}({each.api_key}) v{each.version}"
        for each in found
        if each.api_key is not None
    )
    return Counter(names)


def _is_answered(exchange: Exchange) -> bool:
    return exchange.response is not None and exchange.response.is_whole


def skewed(segments: Sequence[Segment], steps: int) -> list[Segment]:
    """Return segments as two recorders saw them of whose clocks that of the broker is behind."""
    places = [at - (each.source == BROKER) * (steps + 0.5) for at, each in enumerate(segments)]
    return [segments[at] for at in sorted(range(len(segments)), key=places.__getitem__)]


@for_each("has_start", [True, False])
@for_each("steps", [1, 3, 8])
def test_directions_recorded_by_clocks_that_differ_are_paired(
    steps: int, *, has_start: bool
) -> None:
    """What came before its request has no latency, and the skew is told."""
    talk = Talk().open()
    for number in range(40):
        talk.ask(request(number)).tell(response(number))
    segments = talk.close().segments if has_start else talk.segments[3:]
    decoder = CaptureDecoder(Numbered())
    found = []
    for batch in batches(skewed(segments, steps), 7):
        found += decoder.feed(batch)
    found += decoder.finish()

    pairs = [each for each in exchanges(found) if each.pairing is Status.OK]
    assert len(pairs) == 40 if has_start else len(pairs) >= 39
    assert {each.pairing for each in exchanges(found)} <= {Status.OK, Status.UNANSWERED}
    for each in pairs:
        assert each.request is not None
        assert each.response is not None
        assert each.request.data[4:8] == each.response.data[:4]
        assert each.latency_ns is None or each.latency_ns > 0
    assert decoder.counts.early >= 38
    assert decoder.counts.skew_ns >= steps * 500_000
    assert decoder.counts.exchanges == 40


@pytest.mark.thorough
@for_each("name", ["tls12_aiokafka", "tls13_kafkapython"])
@for_each("packs", [bytes, gzip.compress])
def test_secrets_are_known_before_the_packets_that_need_them(
    name: str, packs: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """A key log may lie behind all packets of its file, and in another file."""
    file = TLS_CAPTURES / f"{name}.pcap"
    keys = file.with_suffix(".keylog").read_bytes()
    section = Section()
    late = section.start() + section.interface() + section.packet(bytes(60), 1 << 60)
    (tmp_path / "late.pcapng").write_bytes(packs(late + section.secrets(keys)))
    expected = decode_capture([file], keylog=KeyLog.parse(keys))
    found = decode_capture([file, tmp_path / "late.pcapng"])

    pairs = [each.correlation_id for each in exchanges(expected)]
    assert len(pairs) > 15
    assert [each.correlation_id for each in exchanges(found)] == pairs


def test_captures_without_tls_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks ahead for secrets that nothing needs."""

    def refuse(_: CaptureReader) -> list[list[Secrets]]:
        raise AssertionError

    monkeypatch.setattr(CaptureReader, "find_secrets", refuse)

    assert exchanges(decode_capture([CAPTURES / "admin.pcap"]))
