from kdiag.pcap.tcp.extent import Extent, Extents
from kdiag.pcap.tcp.sightings import Link
from kdiag.pcap.writer.packet_owners import PacketOwners
from recordings.exchange_maker import make_connection
from recordings.segment_tape import Segment, batch_of

A, B, C, D = ((address << 16) | 9092 for address in (10, 11, 12, 13))


def extent(number: int, first_packet: int, **changes: object) -> Extent:
    """Return a connection between A and B."""
    connection = make_connection(number, close_reason=changes.pop("reason", "fin"))
    facts = Extent(connection, (A, B), first_packet, 0, (0, 0))
    return facts._replace(**changes)  # type: ignore[arg-type]


def found(extents: Extents, wanted: set[int], *ends: tuple[int, int]) -> list[tuple[int, ...]]:
    """Return packet number, connection and side of the wanted among packets between some ends."""
    owners = PacketOwners(extents, wanted)
    batch = batch_of([Segment(*each, sequence=1) for each in ends])
    segments = owners.find(batch)
    numbers = [owners.extents[each].connection.number for each in segments.owner.tolist()]
    packets = batch.packet[segments.row].tolist()
    return list(zip(packets, numbers, segments.side.tolist(), strict=True))


def of(*connections: Extent) -> Extents:
    """Return the extents of a run."""
    extents = Extents()
    for each in connections:
        extents.add(each)
    return extents


def test_segments_belong_to_the_connection_that_began_last_between_their_ends() -> None:
    """From its first packet on, of either side; others are nobody's."""
    extents = of(extent(1, 2), extent(2, 4))
    ends = ((A, B), (A, B), (B, A), (A, B), (B, A), (A, C), (C, B))
    assert found(extents, {1, 2}, *ends) == [(2, 1, 0), (3, 1, 1), (4, 2, 0), (5, 2, 1)]
    assert found(extents, {2}, *ends) == [(4, 2, 0), (5, 2, 1)]
    assert found(extents, {1}, *ends) == [(2, 1, 0), (3, 1, 1)]
    assert found(extents, set(), *ends) == []


def test_the_syn_that_takes_the_port_belongs_to_the_connection_that_it_ends() -> None:
    """Without it, that one would seem to go on."""
    extents = of(extent(1, 1, reason="reused"), extent(2, 3))
    assert found(extents, {1}, *[(A, B)] * 4) == [(1, 1, 0), (2, 1, 0), (3, 1, 0)]


def test_sightings_belong_to_their_connection_with_the_sides_of_that() -> None:
    """From their own handshake on, which was another connection at first."""
    link = Link((A, B), (D, C), None, 3, (None, None))
    extents = of(extent(1, 1, links=[link]))
    extents.discard((C, D), 2)
    ends = ((A, B), (C, D), (D, C), (C, D))
    assert found(extents, {1}, *ends) == [(1, 1, 0), (2, 1, 1), (3, 1, 0), (4, 1, 1)]


def test_a_connection_that_was_discarded_alone_is_nobodys() -> None:
    """It is no sighting of one that is wanted."""
    extents = of(extent(1, 3))
    extents.discard((A, B), 1)
    assert found(extents, {1}, *[(A, B)] * 3) == [(3, 1, 0)]
