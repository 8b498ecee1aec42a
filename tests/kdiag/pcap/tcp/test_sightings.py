"""Connections before and after NAT, in batches of any size."""

from collections.abc import Callable, Sequence

import pytest

from kdiag.exchange.model import Connection, Exchange, Sighting, Status
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.tcp.counts import Counts
from recordings.segment_tape import (
    ACK,
    BROKER,
    CLIENT,
    FIN,
    PSH,
    RST,
    STEP_NS,
    SYN,
    Numbered,
    Segment,
    Talk,
    batches,
    request,
    response,
)
from tiers.cases import for_each

POD = (0x0AF40107 << 16) | 9092
NODE = (0x0A000063 << 16) | 51_000
STARTS = 2_815_000_000, 4_402_000_000
BLOCK_ROWS = [1, 2, 5, 1000]


def talk(count: int = 4, starts: tuple[int, int] = STARTS, *, opens: bool = True) -> list[Segment]:
    """Return a connection with some exchanges."""
    told = Talk(starts=starts)
    if opens:
        told.open()
    for number in range(count):
        told.ask(request(number)).tell(response(number))
    return (told.close() if opens else told).segments


def elsewhere(segment: Segment, client: int, broker: int) -> Segment:
    """Return a packet as it looks between other ends."""
    ends = {CLIENT: client, BROKER: broker}
    return segment._replace(source=ends[segment.source], destination=ends[segment.destination])


def on_both_sides(
    segments: Sequence[Segment], client: int = CLIENT, broker: int = POD
) -> list[Segment]:
    """Return packets as a router sees them: in front of itself, and with other addresses behind."""
    seen = []
    for each in segments:
        pair = [each, elsewhere(each, client, broker)]
        seen += pair if each.source == CLIENT else pair[::-1]
    return seen


def decoded(
    segments: Sequence[Segment], rows: int, *, links: bool = True
) -> tuple[list[Item], Counts]:
    """Return what a decoder makes of segments, and its counts."""
    decoder = CaptureDecoder(Numbered())
    if links:
        decoder.link_sightings()
    items = [item for batch in batches(segments, rows) for item in decoder.feed(batch)]
    items += decoder.finish()
    return items, decoder.counts


def connections(items: Sequence[Item]) -> list[Connection]:
    """Return the connections in their order."""
    found = [item for item in items if isinstance(item, Connection)]
    return sorted(found, key=lambda each: each.number)


def answered(items: Sequence[Item]) -> int:
    """Return how many exchanges have both sides."""
    return sum(isinstance(item, Exchange) and item.pairing is Status.OK for item in items)


@pytest.mark.thorough
@for_each("rows", BLOCK_ROWS)
@for_each(("client", "broker"), [(CLIENT, POD), (NODE, BROKER), (NODE, POD)])
def test_a_connection_before_and_after_nat_is_listed_once(
    client: int, broker: int, rows: int
) -> None:
    """With all its addresses, and the time between the places."""
    items, counts = decoded(on_both_sides(talk(), client, broker), rows)
    (connection,) = connections(items)

    assert (answered(items), counts.connections, counts.sightings) == (4, 1, 1)
    assert counts.exchanges == 4
    assert (connection.client, connection.broker) == (hex(CLIENT), hex(BROKER))
    assert connection.sightings == [
        Sighting(
            client=hex(client),
            broker=hex(broker),
            request_hop_ns=STEP_NS,
            response_hop_ns=STEP_NS,
        )
    ]
    assert connection.duplicates == 0


@for_each("rows", BLOCK_ROWS)
def test_three_places_are_two_sightings(rows: int) -> None:
    """As with masquerading behind a service address."""
    segments = []
    for each in talk():
        seen = [each, elsewhere(each, CLIENT, POD), elsewhere(each, NODE, POD)]
        segments += seen if each.source == CLIENT else seen[::-1]
    items, counts = decoded(segments, rows)
    (connection,) = connections(items)

    assert (answered(items), counts.sightings) == (4, 2)
    assert [each.request_hop_ns for each in connection.sightings] == [STEP_NS, 2 * STEP_NS]


@for_each("rows", BLOCK_ROWS)
def test_a_capture_that_starts_in_the_middle_links_equal_packets(rows: int) -> None:
    """By their numbers and their bytes."""
    items, counts = decoded(on_both_sides(talk(opens=False)), rows)
    (connection,) = connections(items)

    assert (answered(items), counts.connections, counts.sightings) == (4, 1, 1)
    (sighting,) = connection.sightings
    assert (sighting.client, sighting.broker) == (hex(CLIENT), hex(POD))
    assert (sighting.request_hop_ns, sighting.response_hop_ns) == (STEP_NS, None)


@for_each("rows", BLOCK_ROWS)
def test_a_later_recording_of_the_other_place_is_linked_too(rows: int) -> None:
    """Its clock is behind by more than the whole handshake; what the hop was is unknown then."""
    first, second = talk(), [elsewhere(each, CLIENT, POD) for each in talk()]
    items, counts = decoded([*first[:7], *second, *first[7:]], rows)

    assert (answered(items), counts.connections, counts.sightings) == (4, 1, 1)


OTHERS: dict[str, Callable[[], list[Segment]]] = {
    "another client number": lambda: talk(starts=(STARTS[0] + 1, STARTS[1])),
    "another broker number": lambda: talk(starts=(STARTS[0], STARTS[1] + 1)),
    "other bytes": lambda: Talk(starts=STARTS).open().ask(request(9)).tell(response(9)).segments,
}


@pytest.mark.thorough
@for_each("rows", BLOCK_ROWS)
@for_each("name", OTHERS)
def test_without_evidence_nothing_is_linked(name: str, rows: int) -> None:
    """A load balancer that ends TCP itself has numbers of its own."""
    other = [elsewhere(each, NODE, POD) for each in OTHERS[name]()]
    mine = talk()
    both = [each for pair in zip(mine, other, strict=False) for each in pair]
    both += [*mine[len(other) :], *other[len(mine) :]]
    items, counts = decoded(both, rows)

    assert (counts.connections, counts.sightings) == (2, 0)
    assert answered(items) == 4 + (1 if name == "other bytes" else 4)


@pytest.mark.parametrize("opens", [True, False])
def test_numbers_that_no_system_chooses_are_no_evidence(opens: bool) -> None:  # noqa: FBT001
    """Generated captures give all connections the same."""
    _, counts = decoded(on_both_sides(talk(starts=(1000, 5000), opens=opens)), 1000)

    assert (counts.connections, counts.sightings) == (2, 0)


def test_nothing_is_linked_unless_that_is_wanted() -> None:
    """Each sighting is a connection of its own then."""
    items, counts = decoded(on_both_sides(talk()), 1000, links=False)

    assert (answered(items), counts.connections, counts.sightings) == (8, 2, 0)
    assert [each.sightings for each in connections(items)] == [[], []]


@for_each("rows", BLOCK_ROWS)
@for_each("flags", [FIN | ACK, RST | ACK])
def test_a_connection_without_a_byte_is_linked_when_it_ends(flags: int, rows: int) -> None:
    """As those of health checks are."""
    told = Talk(starts=STARTS).open()
    told.send(0, flags=flags)
    items, counts = decoded(on_both_sides(told.segments), rows)

    assert (len(connections(items)), counts.sightings) == (1, 1)


@pytest.mark.thorough
@for_each("rows", BLOCK_ROWS)
def test_ends_that_are_used_again_begin_another_connection(rows: int) -> None:
    """The one behind the NAT is linked again, or stands for itself."""
    segments = on_both_sides(talk())
    again = talk(starts=(3_000_000_000, 3_500_000_000))
    segments += on_both_sides(again)
    alone = talk(starts=(3_100_000_000, 3_600_000_000))
    segments += [elsewhere(each, CLIENT, POD) for each in alone]
    items, counts = decoded(segments, rows)
    ends = [(each.broker, len(each.sightings)) for each in connections(items)]

    assert ends == [(hex(BROKER), 1), (hex(BROKER), 1), (hex(POD), 0)]
    assert (answered(items), counts.connections, counts.sightings) == (12, 3, 2)


@pytest.mark.parametrize("opens", [True, False])
def test_batches_of_any_size_give_the_same(opens: bool) -> None:  # noqa: FBT001
    """The numbers of connections too."""
    segments = on_both_sides(talk(opens=opens))
    third = [elsewhere(each, NODE + 7, POD + 1) for each in talk(starts=(1 << 30, 1 << 31))]
    segments = [each for pair in zip(segments, third, strict=False) for each in pair]
    found = []
    for rows in BLOCK_ROWS:
        items, counts = decoded(segments, rows)
        exchanges = [item for item in items if isinstance(item, Exchange)]
        numbers = [(each.number, each.connection.number, each.correlation_id) for each in exchanges]
        found.append((sorted(numbers), connections(items), counts))

    assert all(each == found[0] for each in found)


def test_handshakes_of_long_ago_are_forgotten() -> None:
    """The same numbers an hour later are a coincidence, or a capture that was replayed."""
    decoder = CaptureDecoder(Numbered())
    decoder.link_sightings()
    for batch in batches(talk()):
        decoder.feed(batch)
    for batch in batches([elsewhere(each, CLIENT, POD) for each in talk()]):
        decoder.feed(batch._replace(time_ns=batch.time_ns + 3600 * 10**9))
    decoder.finish()

    assert (decoder.counts.connections, decoder.counts.sightings) == (2, 0)


def test_bytes_before_the_handshake_are_no_evidence() -> None:
    """Whoever writes such packets is not believed; nothing is lost."""
    mine = on_both_sides(talk())
    early = Segment(CLIENT, POD, STARTS[0] + 1, STARTS[1] + 1, PSH | ACK, request(0))
    syn = next(row for row, each in enumerate(mine) if each.flags == SYN | ACK)
    for rows in (1, 1000):
        items, counts = decoded([*mine[:syn], early, *mine[syn:]], rows)
        assert counts.sightings == 0
        assert answered(items) == 8
