import pytest

from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.tcp.extent import Extent, stream_origin
from recordings.segment_tape import (
    BROKER,
    CLIENT,
    Numbered,
    Segment,
    Talk,
    batches,
    request,
    response,
)

STARTS = 2**32 - 10, 4_402_000_000 % 2**32
POD = (0x0AF40107 << 16) | 9092


def extents_of(segments: list[Segment], *, rows: int = 1000) -> tuple[list[Extent], list[object]]:
    """Return where the connections of some segments are, and the discarded ones."""
    decoder = CaptureDecoder(Numbered())
    decoder.link_sightings()
    extents = decoder.note_extents()
    for batch in batches(segments, rows):
        decoder.feed(batch)
    decoder.finish()
    return extents.found, [*extents.discarded]


def test_byte_0_of_a_stream_has_a_sequence_number_of_its_own() -> None:
    """It is found from any other byte, modulo 2**32; nothing tells it where nothing came."""
    assert stream_origin(5, 15) == 2**32 - 10
    assert stream_origin(None, 0) is None


def test_a_connection_is_known_by_its_ends_its_first_packet_and_its_first_numbers() -> None:
    """However its packets were read."""
    talk = Talk(starts=STARTS).open().ask(request(1), 7).tell(response(1)).close()
    for rows in (1, 1000):
        (extent,), discarded = extents_of(talk.segments, rows=rows)
        assert extent.endpoints == (min(CLIENT, BROKER), max(CLIENT, BROKER))
        assert (extent.first_packet, extent.is_encrypted, discarded) == (1, False, [])
        client, broker = (extent.origins[side] for side in (extent.client, 1 - extent.client))
        assert (client, broker) == (STARTS[0] + 1, STARTS[1] + 1)


def test_sightings_belong_to_the_connection_that_is_listed() -> None:
    """With the packets from before it was known that they are one."""
    starts = 2_815_000_000, 4_102_000_000
    talk = Talk(starts=starts).open().ask(request(1)).tell(response(1)).close()
    both = []
    for each in talk.segments:
        ends = {BROKER: POD, CLIENT: CLIENT}
        again = each._replace(source=ends[each.source], destination=ends[each.destination])
        both += [each, again] if each.source == CLIENT else [again, each]
    (extent,), discarded = extents_of(both, rows=1)

    (link,) = extent.links
    assert link.ends == (min(CLIENT, POD), max(CLIENT, POD))
    assert discarded == [(link.ends, 2)]


@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_frames_note_where_in_the_stream_they_start(rows: int) -> None:
    """Only where somebody wants that, and however the packets were read."""
    asked = request(1) + request(2)
    talk = Talk().open().ask(asked, 9).tell(response(1) + response(2)).ask(request(3))
    plain, noting = CaptureDecoder(Numbered()), CaptureDecoder(Numbered())
    noting.note_extents()
    for decoder, expected in (
        (plain, {-1}),
        (noting, {0, len(request(1)), len(asked), len(response(1))}),
    ):
        items = [item for batch in batches(talk.segments, rows) for item in decoder.feed(batch)]
        found = [item for item in items + decoder.finish() if isinstance(item, Exchange)]
        frames = [frame for each in found for frame in (each.request, each.response) if frame]
        assert {each.stream_offset for each in frames} == expected
        assert len(frames) == 5
