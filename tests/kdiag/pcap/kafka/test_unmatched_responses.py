import struct

from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.pcap.kafka import unmatched_responses
from kdiag.pcap.kafka.unmatched_responses import (
    MAX_HELD,
    MAX_HELD_BYTES,
    Habits,
    Turns,
    UnmatchedResponses,
    first_asked,
)
from kdiag.pcap.tcp.reassembly import Moment
from kdiag.wire.api.end_txn import EndTxnResponse
from kdiag.wire.api.fetch import FetchResponse
from kdiag.wire.api.heartbeat import HeartbeatResponse
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kdiag.wire.codec.messages import encode
from kdiag.wire.frame import Frame
from kdiag.wire.schema import Struct

FETCH, LIST_OFFSETS, HEARTBEAT, END_TXN = 1, 2, 12, 26


def answer(message: Struct, version: int, *, is_flexible: bool = True) -> bytes:
    """Return the bytes of a response frame, its length left out."""
    return struct.pack(">i", 7) + b"\0" * is_flexible + encode(message, version)


def offsets() -> ListOffsetsResponse:
    """Return a response that has the same layout from version 6 on."""
    partition = ListOffsetsPartitionResponse(partition_index=3, timestamp=-1, offset=4711)
    topic = ListOffsetsTopicResponse(name="orders-of-the-day", partitions=[partition])
    return ListOffsetsResponse(topics=[topic])


def connection(client: str = "10.0.0.1:40000") -> Connection:
    """Return a connection of a client to a broker."""
    return Connection(
        number=1, connection_id="", client=client, broker="10.0.0.2:9092", first_ns=0, last_ns=0
    )


def alone(number: int, data: bytes) -> Exchange:
    """Return the exchange of a response whose request was not seen."""
    return Exchange(
        number=number,
        connection=connection(),
        api_key=None,
        version=None,
        correlation_id=7,
        client_id=None,
        request=None,
        response=Frame(data, len(data), 0, 0),
        pairing=Status.UNMATCHED,
    )


def habits(*asked: tuple[int, int]) -> Habits:
    """Return those of a client that asked for each of these twice."""
    found = UnmatchedResponses([]).habits(connection())
    for each in asked:
        found.learn(each)
        found.counts[each] += 1
    return found


def test_the_only_request_that_fits_is_what_was_answered() -> None:
    """Others of the connection contradict the bytes."""
    client = habits((FETCH, 16), (LIST_OFFSETS, 7), (HEARTBEAT, 4))

    assert client.asked_for(answer(offsets(), 7)) == (LIST_OFFSETS, 7)
    assert client.asked_for(answer(FetchResponse(), 16)) == (FETCH, 16)


def test_nothing_is_claimed_where_two_fit_or_none() -> None:
    """Not even when they are versions of one API."""
    response = answer(offsets(), 7)

    assert habits((LIST_OFFSETS, 7), (LIST_OFFSETS, 8)).asked_for(response) is None
    assert habits((FETCH, 16), (HEARTBEAT, 4)).asked_for(response) is None
    assert habits().asked_for(response) is None


def test_a_response_with_nothing_but_an_error_is_never_claimed() -> None:
    """Half of the APIs look the same then, whatever the connection was seen to use."""
    beat, end = answer(HeartbeatResponse(), 4), answer(EndTxnResponse(), 3)

    assert beat == end
    assert habits((HEARTBEAT, 4)).asked_for(beat) is None
    assert habits((END_TXN, 3)).asked_for(end) is None


def test_a_short_response_needs_a_request_that_comes_again() -> None:
    """Once might be another API of the same shape."""
    client = UnmatchedResponses([]).habits(connection())
    client.learn((FETCH, 16))
    empty = answer(FetchResponse(), 16)
    assert len(empty) == 17
    assert client.asked_for(empty) is None

    client.counts[FETCH, 16] += 1
    assert client.asked_for(empty) == (FETCH, 16)


def test_what_others_ask_between_the_same_hosts_is_tried_for_long_responses() -> None:
    """Of a connection that has shown something itself."""
    lone = UnmatchedResponses([])
    lone.habits(connection("10.0.0.1:40000")).learn((LIST_OFFSETS, 7))
    silent, other = (lone.habits(connection(each)) for each in ("10.0.0.1:40001", "10.0.0.3:1"))
    response = answer(offsets(), 7)

    assert silent.asked_for(response) is None
    silent.learn((FETCH, 16))
    other.learn((FETCH, 16))
    assert silent.asked_for(response) == (LIST_OFFSETS, 7)
    assert other.asked_for(response) is None
    assert silent.asked_for(answer(ListOffsetsResponse(), 7)) is None


def test_the_client_may_be_found_out_after_the_first_bytes() -> None:
    """Until then its kinds would count for the wrong hosts."""
    lone = UnmatchedResponses([])
    turned = connection("10.0.0.2:9092")
    turned.broker = "10.0.0.1:40000"
    early = lone.habits(turned)
    turned.client, turned.broker = "10.0.0.1:40000", "10.0.0.2:9092"
    early.learn((LIST_OFFSETS, 7))
    late = lone.habits(connection("10.0.0.1:40001"))
    late.learn((FETCH, 16))

    assert late.asked_for(answer(offsets(), 7)) == (LIST_OFFSETS, 7)


def test_one_run_knows_the_first_kinds_that_came_before() -> None:
    """As many as it keeps."""
    asked = {(FETCH, version): 100 - version for version in range(40)}

    assert first_asked(asked, 1_000) == [(FETCH, version) for version in range(39, 7, -1)]
    assert first_asked(asked, 62) == [(FETCH, 39), (FETCH, 38)]


class Clock:
    """A recording with one more packet, of another part."""

    def first_after(self, packet: int, time_ns: int) -> Moment | None:
        """Return that packet."""
        return Moment(50, 2_000) if packet < 50 and time_ns < 2_000 else None

    def last(self) -> Moment:
        """Return the last one."""
        return Moment(99, 9_000)

    def lag_ns(self, packet: int) -> int:
        """Return that times never go back."""
        return packet * 0


def test_turns_are_those_of_a_decoder_that_gets_all_packets() -> None:
    """What a connection leaves at its end comes when that would have been known."""
    unmatched, ended, found = UnmatchedResponses([]), [], []
    unmatched.unsure = []
    turns = Turns(unmatched)
    one, other, over = alone(1, b""), alone(2, b""), connection()

    class Asked:
        def begin(self, _: Frame) -> None:
            found.append(one)

    class Ended:
        def begin(self, _: Frame) -> None:
            assert unmatched.unsure is not None
            unmatched.unsure.append((other, unmatched.now))
            ended.append(over)

    turns.expect_end(over, Moment(40, 1_000))
    frame = Frame(b"", 0, 0, 0)
    turns.take([(41, Asked(), frame), (90, Ended(), frame)], found, ended, Clock())

    assert turns.of_exchanges == [41]
    assert unmatched.unsure == [(other, 50)]


def test_kinds_that_cannot_be_tried_and_too_many_of_them_are_not_kept() -> None:
    """A hostile client may ask for anything."""
    client = habits()
    for version in range(200):
        client.learn((FETCH, version))
        client.learn((END_TXN, version))
        client.learn((HEARTBEAT, version))
        client.learn((version, 0))

    assert (FETCH, 99) not in client.counts
    assert len(client.counts) == unmatched_responses._MAX_KINDS


def test_a_response_too_large_for_all_kinds_is_not_tried() -> None:
    """Trying costs as much as decoding each time."""
    response = answer(offsets(), 7) + bytes(5 << 20)

    assert habits((LIST_OFFSETS, 7), (FETCH, 16)).asked_for(response) is None


def test_what_is_held_is_released_by_its_number() -> None:
    """Once, with what was found out in the meantime."""
    out: list[Exchange] = []
    lone = UnmatchedResponses(out)
    client = lone.habits(connection())
    exchange = alone(4, answer(offsets(), 7))
    lone.hold(exchange, client)
    client.learn((LIST_OFFSETS, 7))
    assert out == []
    lone.release(4)
    lone.release(4)

    assert out == [exchange]
    assert (exchange.api_key, exchange.version, exchange.guessed) == (LIST_OFFSETS, 7, True)
    assert exchange.pairing is Status.UNMATCHED


def test_the_oldest_goes_when_too_many_or_too_much_is_held() -> None:
    """With what is known then."""
    out: list[Exchange] = []
    lone = UnmatchedResponses(out)
    client = lone.habits(connection())
    for number in range(MAX_HELD + 2):
        lone.hold(alone(number, b"?"), client)
    assert [each.number for each in out] == [0, 1]

    lone.hold(alone(-1, bytes(MAX_HELD_BYTES + 1)), client)
    assert len(out) == MAX_HELD + 3
    assert not any(each.guessed for each in out)
