from typing import Any

import msgspec
import pytest

from kdiag.exchange.model import Connection
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.flow import Flow
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.tcp.attempt import Attempt
from recordings.segment_tape import (
    ACK,
    BROKER,
    CLIENT,
    RST,
    STEP_NS,
    SYN,
    Segment,
    Talk,
    batch_of,
    batches,
    request,
)
from tiers.cases import for_each

SECOND = Segment(CLIENT, BROKER, 1000, 0, SYN)
ANSWER = Segment(BROKER, CLIENT, 5000, 1001, SYN | ACK)
TALK = Talk(CLIENT, BROKER).open().ask(request(1)).segments


def decoded(segments: list[Segment], size: int, *, follows_tcp: bool = False) -> list[Any]:
    """Return the connections and exchanges of segments, without the facts of TCP."""
    decoder = CaptureDecoder(AddressBook())
    if follows_tcp:  # then there are no attempts
        decoder.follow_tcp()
    items = [item for batch in batches(segments, size) for item in decoder.feed(batch)]
    items += decoder.finish()
    return [
        msgspec.structs.replace(item, tcp=None) if isinstance(item, Connection) else item.number
        for item in items
        if hasattr(item, "number")
    ]


@for_each(
    "segments",
    [
        [SECOND],
        [SECOND, SECOND, SECOND],
        [SECOND] * 7,
        [SECOND, ANSWER],
        [SECOND, ANSWER, ANSWER, SECOND],
        [SECOND, Segment(BROKER, CLIENT, 0, 1001, RST | ACK)],
        [SECOND, ANSWER, Segment(CLIENT, BROKER, 1001, 5001, RST)],
        [SECOND, Segment(CLIENT, BROKER, 9000, 0, SYN)],
        [SECOND, Segment(BROKER, CLIENT, 9000, 0, SYN), ANSWER],
        [SECOND, ANSWER, Segment(BROKER, CLIENT, 7000, 1001, SYN | ACK)],
        [ANSWER, SECOND],
        TALK,
        [SECOND, *TALK, SECOND],
    ],
    ids=str,
)
def test_an_attempt_becomes_the_connection_it_would_have_been(segments: list[Segment]) -> None:
    """Whatever follows the SYN, and however packets are divided into batches."""
    expected = decoded(segments, 1, follows_tcp=True)
    for size in (1, 2, 100):
        assert decoded(segments, size) == expected


def test_a_flood_of_syns_makes_no_connections_of_them() -> None:
    """Neither with answers nor without; the next packet of one makes that one."""
    ends = [(CLIENT + number, BROKER) for number in range(50)]
    flood = [Segment(*each, 1000, 0, SYN) for each in ends]
    flood += [Segment(BROKER, client, 5000, 1001, SYN | ACK) for client, _ in ends]
    decoder = CaptureDecoder(AddressBook())
    for batch in batches([*flood, Segment(CLIENT, BROKER, 1001, 5001, ACK)], 30):
        decoder.feed(batch)
    kinds = [type(each) for each in decoder.all_flows()]
    assert (kinds.count(Attempt), kinds.count(Flow)) == (49, 1)


def test_attempts_are_numbered_and_ended_in_the_order_of_their_packets() -> None:
    """As all connections are."""
    flood = [Segment(CLIENT + number, BROKER, 1000, 0, SYN) for number in range(20)]
    found = decoded(flood, 7)
    assert sorted(each.number for each in found) == list(range(1, 21))
    assert {each.close_reason for each in found} == {"end of capture"}
    assert len({each.connection_id for each in found}) == 20


@pytest.mark.parametrize("gap_s", [1, 7200])
def test_an_attempt_that_was_silent_for_long_is_another_one_then(gap_s: int) -> None:
    """A SYN that comes again hours later is no retransmission."""
    decoder = CaptureDecoder(AddressBook())
    for packet in (1, 1 + gap_s * 10**9 // STEP_NS):
        decoder.feed(batch_of([SECOND], packet))
    decoder.finish()
    assert decoder.counts.connections == (1 if gap_s == 1 else 2)
