import struct
from collections.abc import Sequence

import pytest

from kdiag.exchange.model import Connection, Exchange, Status, UnansweredReason
from kdiag.pcap.kafka.matching import (
    MAX_EARLY_RESPONSES,
    MAX_SKEW_NS,
    ExchangeCollector,
    Matcher,
)
from kdiag.pcap.kafka.unmatched_responses import (
    ENOUGH_REQUESTS,
    ENOUGH_RESPONSES,
    MAX_HELD,
)
from kdiag.wire.api.api_versions import ApiVersionsRequest
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.codec.messages import encode
from kdiag.wire.frame import Frame
from recordings.segment_tape import request, response
from tiers.cases import for_each


class Rig:
    """A matcher that frames are given to, as a decoder would."""

    def __init__(
        self, *, is_sasl: bool = False, limit: int = 100, is_from_start: bool = False
    ) -> None:
        self.collector = ExchangeCollector(limit, 1 << 20)
        self.connection = Connection(
            number=1, connection_id="", client="", broker="", first_ns=0, last_ns=0
        )
        self.matcher = Matcher(
            self.collector, self.connection, is_sasl=is_sasl, is_from_start=is_from_start
        )
        self.now_ns = 0
        self._packet = 0

    def frame(self, data: bytes, *, is_coming: bool = False) -> Frame:
        """Return the frame that bytes with a length make."""
        self._packet += 1
        now_ns, last_packet = self.now_ns, 0 if is_coming else self._packet
        return Frame(data[4:], len(data) - 4, now_ns, now_ns, self._packet, last_packet)

    def ask(self, data: bytes) -> None:
        """Give a complete request."""
        self.matcher.begin_request(self.frame(data))

    def tell(self, data: bytes) -> None:
        """Give a complete response."""
        self.matcher.begin_response(self.frame(data))

    def outcome(self) -> list[tuple[int, int | None, Status]]:
        """Return number, correlation id and pairing of what is complete."""
        return [
            (each.number, each.correlation_id, each.pairing) for each in self.collector.exchanges
        ]


def produce(
    correlation_id: int, acks: int, version: int, transactional_id: str | None = None
) -> bytes:
    """Return a Produce request."""
    body = ProduceRequest(acks=acks, transactional_id=transactional_id)
    tags = b"\0" if version >= 9 else b""
    return request(correlation_id, tags + encode(body, version), api_key=0, version=version)


def metadata_response(correlation_id: int) -> bytes:
    """Return a Metadata response of version 5."""
    topic = MetadataResponseTopic(name="orders")
    return response(correlation_id, encode(MetadataResponse(topics=[topic]), 5))


def test_the_correlation_id_finds_the_request() -> None:
    """A response completes the exchange of its request."""
    rig = Rig()
    rig.ask(request(1, api_key=3, version=1))
    rig.ask(request(2, api_key=18, version=0))
    rig.tell(response(1))
    rig.tell(response(2))

    assert rig.outcome() == [(1, 1, Status.OK), (2, 2, Status.OK)]
    first = rig.collector.exchanges[0]
    assert (first.api_key, first.version, first.client_id) == (3, 1, "client-1")
    assert (rig.connection.requests, rig.connection.responses) == (2, 2)
    assert (rig.collector.overtaken, rig.collector.first_overtaken) == (0, 0)


def test_a_response_that_overtakes_is_paired_and_counted() -> None:
    """A broker answers in order; a proxy may not."""
    rig = Rig()
    for number in range(1, 7):
        rig.ask(request(number))
    for number in (2, 1, 3, 6, 4, 5):
        rig.tell(response(number))

    assert {pairing for _, _, pairing in rig.outcome()} == {Status.OK}
    assert (rig.collector.overtaken, rig.collector.first_overtaken) == (3, 1)


def test_equal_correlation_ids_are_answered_in_order() -> None:
    """A simple client may give every request the same id."""
    rig = Rig()
    for _ in range(3):
        rig.ask(request(0))
    for _ in range(3):
        rig.tell(response(0))

    assert rig.outcome() == [(1, 0, Status.OK), (2, 0, Status.OK), (3, 0, Status.OK)]
    requests = [each.request.first_packet for each in rig.collector.exchanges if each.request]
    responses = [each.response.first_packet for each in rig.collector.exchanges if each.response]
    assert (requests, responses) == ([1, 2, 3], [4, 5, 6])


def test_a_response_without_request_is_an_exchange_of_its_own() -> None:
    """It has a number like any other."""
    rig = Rig()
    rig.tell(response(-7))
    rig.matcher.give_up_outstanding()

    assert rig.outcome() == [(1, -7, Status.UNMATCHED)]
    assert rig.collector.exchanges[0].request is None
    assert not rig.collector.exchanges[0].guessed


def test_a_response_without_request_is_named_after_what_the_client_asks_later() -> None:
    """It keeps the number of its own place, and waits until the client has asked enough."""
    rig = Rig(limit=1000)
    rig.tell(metadata_response(40))
    for number in range(41, 40 + ENOUGH_REQUESTS):
        rig.ask(request(number, api_key=3, version=5))
        assert rig.outcome() == []
    rig.ask(request(40 + ENOUGH_REQUESTS, api_key=3, version=5))

    assert rig.outcome() == [(1, 40, Status.UNMATCHED)]
    (exchange,) = rig.collector.exchanges
    assert (exchange.api_key, exchange.version, exchange.guessed) == (3, 5, True)


def test_the_end_of_a_connection_tells_enough_of_it() -> None:
    """One request may have to do."""
    rig = Rig()
    rig.tell(metadata_response(40))
    rig.ask(request(41, api_key=3, version=5))
    rig.matcher.give_up_outstanding()

    assert rig.outcome() == [(1, 40, Status.UNMATCHED), (2, 41, Status.UNANSWERED)]
    assert [each.guessed for each in rig.collector.exchanges] == [True, False]


def test_a_request_lost_among_many_is_made_up_for_when_the_next_one_comes() -> None:
    """The client has shown long before what it asks; only skewed clocks could bring it now."""
    rig = Rig()
    for number in range(ENOUGH_REQUESTS):
        rig.ask(request(number, api_key=3, version=5))
        rig.tell(metadata_response(number))
    rig.tell(metadata_response(ENOUGH_REQUESTS))
    rig.ask(request(ENOUGH_REQUESTS + 1, api_key=3, version=5))

    assert rig.collector.exchanges[-1].guessed
    assert rig.outcome()[-1] == (ENOUGH_REQUESTS + 1, ENOUGH_REQUESTS, Status.UNMATCHED)


def test_responses_alone_are_not_held_for_ever() -> None:
    """Where no request comes, each is tried as every kind that there is."""
    rig = Rig()
    for number in range(MAX_EARLY_RESPONSES + ENOUGH_RESPONSES * 3 - 1):
        rig.tell(metadata_response(number))

    assert len(rig.outcome()) == ENOUGH_RESPONSES * 2
    assert all(each.guessed for each in rig.collector.exchanges)


def test_a_lone_response_that_is_cut_could_be_anything() -> None:
    """Nothing is tried once its request cannot come any more."""
    rig = Rig()
    rig.ask(request(41, api_key=3, version=5))
    whole = rig.frame(metadata_response(40))
    whole.data = whole.data[:-1]
    rig.matcher.begin_response(whole)
    rig.ask(request(42, api_key=3, version=5))

    assert rig.outcome() == [(2, 40, Status.UNMATCHED)]


def test_a_lone_response_is_tried_when_all_of_it_has_come() -> None:
    """Its number is that of its first byte."""
    rig = Rig()
    told = rig.frame(metadata_response(40), is_coming=True)
    data, told.data = told.data, told.data[:20]
    rig.matcher.begin_response(told)
    rig.ask(request(41, api_key=3, version=5))
    told.data, told.last_packet = data, 2
    rig.matcher.end_response(told)
    rig.matcher.give_up_outstanding()

    assert rig.outcome()[0] == (1, 40, Status.UNMATCHED)
    assert rig.collector.exchanges[0].guessed


def test_what_is_not_answered_is_given_up_at_the_end() -> None:
    """In the order of the requests."""
    rig = Rig()
    for number in (5, 5, 6):
        rig.ask(request(number))
    rig.matcher.give_up_outstanding()

    assert rig.outcome() == [(n, c, Status.UNANSWERED) for n, c in ((1, 5), (2, 5), (3, 6))]


@pytest.mark.parametrize("version", [2, 7, 13])
def test_a_request_with_acks_0_is_complete_at_once(version: int) -> None:
    """Nothing answers it, and the next response is not its."""
    rig = Rig()
    rig.ask(produce(1, 0, version))
    rig.ask(produce(2, 1, version))
    rig.tell(response(2))

    assert rig.outcome() == [(1, 1, Status.NO_RESPONSE), (2, 2, Status.OK)]


def test_the_client_tells_its_software_once() -> None:
    """ApiVersions has it from version 3 on."""
    body = ApiVersionsRequest(client_software_name="me", client_software_version="1.2")
    rig = Rig()
    for version in (2, 3, 0, 99):
        tags = b"\0" if version >= 3 else b""
        data = tags + (encode(body, version) if version <= 3 else b"?")
        rig.ask(request(version, data, api_key=18, version=version))

    assert rig.connection.client_software == ("me", "1.2")


def test_frames_after_sasl_handshake_v0_are_tokens_until_one_is_a_request() -> None:
    """They have no ids and are answered in order; an answer may be empty."""
    rig = Rig()
    rig.ask(request(1, b"\0\5PLAIN", api_key=17, version=0))
    rig.tell(response(1, b"\0\0\0\0\0\0"))
    rig.ask(struct.pack(">i", 13) + b"\0alice\0secret")
    rig.tell(struct.pack(">i", 0))
    rig.ask(request(2))
    rig.tell(response(2))

    assert rig.outcome() == [(1, 1, Status.OK), (2, None, Status.OPAQUE), (3, 2, Status.OK)]
    token = rig.collector.exchanges[1]
    assert (token.api_key, token.client_id) == (None, None)
    assert token.response is not None
    assert (rig.connection.sasl_mechanism, rig.connection.sasl_user) == ("PLAIN", "alice")


def test_the_user_is_in_a_token_that_is_complete_later() -> None:
    """Its head was begun without it."""
    rig = Rig(is_sasl=True)
    token = rig.frame(struct.pack(">i", 13) + b"\0alice\0secret", is_coming=True)
    token.data = b"\0ali"
    rig.matcher.begin_request(token)
    assert rig.connection.sasl_user is None

    token.data, token.last_packet = b"\0alice\0secret", 2
    rig.matcher.end_request(token)

    assert rig.connection.sasl_user == "alice"


def test_a_connection_may_begin_with_tokens() -> None:
    """GSSAPI before Kafka 0.10 had no handshake; the last token may stay unanswered."""
    rig = Rig(is_sasl=True)
    rig.ask(struct.pack(">i", 4) + b"\x60\x82\x02\x5a")
    rig.tell(struct.pack(">i", 4) + b"\x60\x50\x06\x09")
    rig.ask(struct.pack(">i", 4) + b"\x60\x33\x06\x09")
    rig.ask(request(2))
    rig.tell(response(2))
    rig.matcher.give_up_outstanding()

    assert rig.outcome() == [
        (1, None, Status.OPAQUE),
        (3, 2, Status.OK),
        (2, None, Status.OPAQUE),
    ]


def test_an_exchange_is_handed_over_when_both_frames_are_complete() -> None:
    """Frames are begun with their heads and ended later, in any order."""
    rig = Rig()
    asked = rig.frame(produce(1, 1, 7), is_coming=True)
    asked.data = asked.data[:9]
    told = rig.frame(response(1), is_coming=True)
    rig.matcher.begin_request(asked)
    rig.matcher.begin_response(told)
    assert rig.outcome() == []

    asked.data = produce(1, 1, 7)[4:]
    asked.last_packet = told.last_packet = 3
    rig.matcher.end_request(asked)
    assert rig.outcome() == []
    rig.matcher.end_response(told)

    assert rig.outcome() == [(1, 1, Status.OK)]
    assert rig.collector.exchanges[0].client_id == "client-1"


def test_acks_0_is_known_from_the_head_so_no_response_is_taken_for_one_to_it() -> None:
    """Whether the rest has come when a response comes makes no difference."""
    outcomes = []
    for is_coming in (True, False):
        rig = Rig()
        data = produce(1, acks=0, version=13)[4:]
        frame = Frame(data, len(data), 0, 0, 1, 0 if is_coming else 1)
        rig.matcher.begin_request(frame)
        answer = response(1)[4:]
        rig.matcher.begin_response(Frame(answer, len(answer), 0, 0, 2, 2))
        frame.last_packet = 3
        rig.matcher.end_request(frame)
        rig.matcher.give_up_outstanding()
        outcomes.append(sorted(rig.outcome()))

    assert outcomes[0] == outcomes[1]
    assert (1, 1, Status.NO_RESPONSE) in outcomes[0]


def test_acks_0_is_found_when_a_long_request_is_complete() -> None:
    """Its head tells; it is handed over with all its bytes."""
    rig = Rig()
    for number in (1, 1):
        asked = rig.frame(produce(number, 0, 7), is_coming=True)
        rig.matcher.begin_request(asked)
        asked.last_packet = 2
        rig.matcher.end_request(asked)
    rig.matcher.give_up_outstanding()

    assert rig.outcome() == [(1, 1, Status.NO_RESPONSE), (2, 1, Status.NO_RESPONSE)]


def test_the_end_of_a_frame_whose_turn_has_not_come_is_no_news() -> None:
    """It will be begun complete."""
    rig = Rig()
    frame = rig.frame(request(1))
    rig.matcher.end_request(frame)
    rig.matcher.end_response(frame)

    assert rig.outcome() == []


def test_a_request_that_lost_its_header_is_paired_by_order() -> None:
    """The response tells its correlation id; what it asked stays unknown."""
    rig = Rig()
    lost = Frame(b"\0\3", 50, 0, 0, 1, 1, gap_bytes=48)
    rig.matcher.begin_request(lost)
    rig.ask(request(8))
    rig.tell(response(7))
    rig.tell(response(8))

    assert rig.outcome() == [(1, 7, Status.OK), (2, 8, Status.OK)]
    assert rig.collector.exchanges[0].api_key is None


def test_a_response_that_lost_its_id_answers_the_oldest_request() -> None:
    """The order is all there is."""
    rig = Rig()
    rig.ask(request(1))
    rig.matcher.begin_response(Frame(b"", 90, 0, 0, 2, 2, gap_bytes=90))

    assert rig.outcome() == [(1, 1, Status.OK)]


def test_too_many_unanswered_requests_are_given_up_from_the_oldest() -> None:
    """A capture of one side alone must not fill the memory; the newest always stays."""
    rig = Rig(limit=2)
    for number in range(4):
        rig.ask(request(number))
    assert rig.outcome() == [(1, 0, Status.UNANSWERED), (2, 1, Status.UNANSWERED)]

    rig.ask(request(9, bytes(2 << 20)))
    assert len(rig.outcome()) == 4
    rig.tell(response(9))
    assert rig.outcome()[-1] == (5, 9, Status.OK)


def test_client_ids_are_shown_with_replacement_and_header_0_has_none() -> None:
    """Equal names are one object."""
    rig = Rig()
    rig.ask(request(1, client_id=b"a\xffb"))
    rig.ask(request(2, client_id=b"a\xffb"))
    rig.ask(request(3, client_id=None))
    rig.ask(request(4, client_id=b""))
    rig.ask(struct.pack(">ihhii", 12, 7, 0, 4, 5))
    rig.matcher.give_up_outstanding()
    names = [each.client_id for each in _by_number(rig.collector.exchanges)]

    assert names == ["a\N{REPLACEMENT CHARACTER}b"] * 2 + [None, "", None]
    assert names[0] is names[1]


def _by_number(exchanges: Sequence[Exchange]) -> list[Exchange]:
    return sorted(exchanges, key=lambda each: each.number)


def test_a_response_captured_before_its_request_waits_for_it() -> None:
    """The pair has the number of what came first, no latency, and the skew is counted."""
    rig = Rig(is_from_start=True)
    rig.now_ns = 1_000
    rig.tell(metadata_response(1))
    rig.tell(metadata_response(2))
    rig.now_ns = 5_000
    rig.ask(request(1, encode(MetadataRequest(), 5), api_key=3, version=5))
    rig.now_ns = 7_000
    rig.ask(request(2, api_key=3, version=5))
    rig.ask(request(3, api_key=3, version=5))

    assert rig.outcome() == [(1, 1, Status.OK), (2, 2, Status.OK)]
    first = rig.collector.exchanges[0]
    assert (first.api_key, first.version, first.client_id) == (3, 5, "client-1")
    assert (first.latency_ns, first.guessed) == (None, False)
    collector = rig.collector
    assert (collector.early, collector.first_early, collector.skew_ns) == (2, 1, 6_000)
    assert collector.overtaken == 0


@pytest.mark.parametrize("is_request_last", [True, False])
def test_early_responses_are_paired_before_all_their_bytes_have_come(is_request_last: bool) -> None:  # noqa: FBT001 - a case
    """The pair is complete when both frames are."""
    rig = Rig(is_from_start=True)
    told = rig.frame(metadata_response(1), is_coming=True)
    asked = rig.frame(request(1, api_key=3, version=5), is_coming=True)
    rig.matcher.begin_response(told)
    rig.matcher.begin_request(asked)
    ends = [(rig.matcher.end_response, told), (rig.matcher.end_request, asked)]
    for end, frame in ends if is_request_last else ends[::-1]:
        assert rig.outcome() == []
        frame.last_packet = 3
        end(frame)

    assert rig.outcome() == [(1, 1, Status.OK)]


def test_a_cut_response_waits_for_its_request_too() -> None:
    """Captures with a snap length are skewed like others."""
    rig = Rig(is_from_start=True)
    cut = rig.frame(metadata_response(1))
    cut.data = cut.data[:6]
    rig.matcher.begin_response(cut)
    rig.ask(request(1, api_key=3, version=5))
    lost = rig.frame(metadata_response(2))
    lost.data = lost.data[:6]
    rig.matcher.begin_response(lost)
    rig.matcher.give_up_outstanding()

    assert rig.outcome() == [(1, 1, Status.OK), (2, 2, Status.UNMATCHED)]


def test_ids_need_not_count_up() -> None:
    """Java clients number a request when it is made, and send that for versions before it."""
    rig = Rig(is_from_start=True)
    for number in (1, 2, 0):
        rig.tell(metadata_response(number))
    for number in (1, 2, 0):
        rig.ask(request(number, api_key=3, version=5))

    assert rig.outcome() == [(1, 1, Status.OK), (2, 2, Status.OK), (3, 0, Status.OK)]


def test_a_response_that_others_overtook_waits_no_more() -> None:
    """Those answered before a request were requested before it."""
    rig = Rig(is_from_start=True)
    rig.ask(request(1, api_key=3, version=5))
    for number in (2, 3, 4):
        rig.tell(metadata_response(number))
    rig.ask(request(3, api_key=3, version=5))
    rig.ask(request(2, api_key=3, version=5))
    rig.matcher.give_up_outstanding()

    found = {(correlation_id, pairing) for _, correlation_id, pairing in rig.outcome()}
    assert {(2, Status.UNMATCHED), (3, Status.OK), (2, Status.UNANSWERED)} < found


def test_a_response_waits_only_so_long_for_its_request() -> None:
    """No two clocks differ by more, or the request was lost."""
    rig = Rig(is_from_start=True)
    rig.tell(metadata_response(1))
    rig.now_ns = MAX_SKEW_NS + 1
    rig.tell(metadata_response(2))
    rig.ask(request(1, api_key=3, version=5))
    rig.matcher.give_up_outstanding()

    assert (2, 1, Status.OK) not in rig.outcome()
    assert {(1, Status.UNMATCHED), (2, Status.UNMATCHED), (1, Status.UNANSWERED)} == {
        (correlation_id, pairing) for _, correlation_id, pairing in rig.outcome()
    }


def test_a_response_that_could_not_be_kept_is_not_paired() -> None:
    """What is held in all connections together is bounded."""
    rig = Rig(is_from_start=True)
    rig.tell(metadata_response(0))
    others = [
        Matcher(rig.collector, rig.connection, is_from_start=True)
        for _ in range(MAX_HELD // MAX_EARLY_RESPONSES + 1)
    ]
    for matcher in others:
        for number in range(MAX_EARLY_RESPONSES):
            matcher.begin_response(rig.frame(metadata_response(number)))
    rig.ask(request(0, api_key=3, version=5))
    rig.matcher.give_up_outstanding()

    found = {number: pairing for number, _, pairing in rig.outcome()}
    assert found[1] is Status.UNMATCHED
    assert rig.outcome()[-1][2] is Status.UNANSWERED


def test_a_client_that_repeats_its_id_is_not_paired_with_the_past() -> None:
    """What answers a request before the capture is told apart as soon as the answer follows."""
    rig = Rig()
    rig.tell(metadata_response(7))
    for _ in range(2):
        rig.ask(request(7, api_key=3, version=5))
        rig.tell(metadata_response(7))
    rig.matcher.give_up_outstanding()

    assert sorted(rig.outcome()) == [
        (1, 7, Status.UNMATCHED),
        (2, 7, Status.OK),
        (3, 7, Status.OK),
    ]
    assert rig.collector.early == 0


def test_a_skewed_capture_may_begin_in_the_middle() -> None:
    """The first pair is believed when another response follows."""
    rig = Rig()
    rig.tell(metadata_response(7))
    rig.tell(metadata_response(8))
    rig.ask(request(7, api_key=3, version=5))
    assert rig.outcome() == []
    rig.ask(request(8, api_key=3, version=5))
    rig.tell(metadata_response(9))
    rig.ask(request(9, api_key=3, version=5))
    rig.matcher.give_up_outstanding()

    assert sorted(rig.outcome()) == [(n, n + 6, Status.OK) for n in (1, 2, 3)]


def end_all(rig: Rig, *, lacks_requests: bool) -> list[tuple[int | None, Status, bool]]:
    """End a connection; return id, pairing and whether it is a violation, of each exchange."""
    rig.matcher.give_up_outstanding(lacks_requests=lacks_requests)
    return sorted(
        (each.correlation_id or 0, each.pairing, each.is_violation)
        for each in rig.collector.exchanges
    )


@for_each("is_from_start", [True, False])
@for_each("lacks_requests", [True, False])
def test_an_answer_that_nobody_asked_for_breaks_the_protocol(
    *, is_from_start: bool, lacks_requests: bool
) -> None:
    """That is certain only where every byte of the requests was seen."""
    rig = Rig(is_from_start=is_from_start)
    rig.ask(request(1, api_key=3, version=5))
    rig.tell(metadata_response(1))
    rig.tell(metadata_response(77))
    cut = rig.frame(metadata_response(78))
    cut.data = cut.data[:6]
    rig.matcher.begin_response(cut)
    rig.tell(metadata_response(1))
    found = end_all(rig, lacks_requests=lacks_requests)

    is_violation = is_from_start and not lacks_requests
    lone = [(number, Status.UNMATCHED, is_violation) for number in (1, 77, 78)]
    assert found == sorted([(1, Status.OK, False), *lone])
    violations = (rig.collector.violations, rig.collector.first_violation)
    assert violations == ((3, 2) if is_violation else (0, 0))


def test_an_answer_that_came_too_early_to_be_paired_is_no_violation() -> None:
    """Its request was seen."""
    rig = Rig(is_from_start=True)
    rig.tell(metadata_response(1))
    rig.now_ns = MAX_SKEW_NS + 1
    rig.tell(metadata_response(2))
    rig.ask(request(1, api_key=3, version=5))

    assert (1, Status.UNMATCHED, False) in end_all(rig, lacks_requests=False)


def test_tokens_and_forgotten_requests_leave_ids_without_proof() -> None:
    """Nobody knows what was requested by then."""
    rig = Rig(is_from_start=True, is_sasl=True)
    rig.ask(struct.pack(">i", 4) + b"\x60\x82\x02\x5a")
    rig.tell(struct.pack(">i", 4) + b"\x60\x50\x06\x09")
    rig.tell(metadata_response(7))
    assert not any(violates for _, _, violates in end_all(rig, lacks_requests=False))
    crowd = Rig(is_from_start=True, limit=1)
    for number in (1, 2):
        crowd.ask(request(number, api_key=3, version=5))
    crowd.tell(metadata_response(1))
    assert not any(violates for _, _, violates in end_all(crowd, lacks_requests=False))
    assert crowd.collector.exchanges[0].unanswered_reason is UnansweredReason.GIVEN_UP
