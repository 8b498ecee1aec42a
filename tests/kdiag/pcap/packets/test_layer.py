import numpy as np

from kdiag.pcap.packets.layer import Payloads, ProtocolLayer, joined, merged


def layer_of(*rows: int) -> ProtocolLayer:
    """Return packets of 100 captured bytes of 200, each at ten times its row."""
    row = np.array(rows, np.int64)
    return ProtocolLayer(row, row * 10, row * 0 + 100, row * 0 + 200)


def payloads_of(*rows: int) -> Payloads:
    """Return TCP payloads in these rows that are no fragments."""
    row = np.array(rows, np.int64)
    address = row.astype(np.uint64)
    return Payloads(layer_of(*rows), row * 0 + 6, address, address, row * 0, row * 0, row < 0)


def test_picking_everything_copies_nothing() -> None:
    """The usual case, where all packets are alike, costs nothing."""
    packets, payloads = layer_of(1, 2), payloads_of(1, 2)
    everything = np.array([True, True])
    assert packets.pick(everything) is packets
    assert payloads.pick(everything) is payloads
    assert packets.pick(np.array([False, True])).row.tolist() == [2]
    assert payloads.pick(np.array([False, True])).source.tolist() == [2]


def test_skipping_a_header_shortens_what_follows() -> None:
    """Captured and wire bytes shrink alike."""
    inner = layer_of(3).skip(14)
    assert [column.tolist() for column in inner] == [[3], [44], [86], [186]]


def test_a_length_in_a_header_cuts_off_the_padding() -> None:
    """Neither more than the header says nor more than was captured is there."""
    packets = layer_of(0, 1).within(np.array([60, 150]))
    assert packets.captured.tolist() == [60, 100]
    assert packets.wire.tolist() == [60, 150]


def test_fragments_are_those_that_start_late_or_go_on() -> None:
    """A datagram in one piece starts at 0 and has no more to come."""
    payloads = payloads_of(0, 1, 2)._replace(
        start=np.array([0, 8, 0]), more=np.array([True, False, False])
    )
    assert payloads.fragmented().tolist() == [True, True, False]


def test_merged_packets_stand_in_their_order() -> None:
    """They come from several headers; of one, they stay as they are."""
    packets = merged([layer_of(1, 4), layer_of(0, 2)])
    assert [column.tolist() for column in packets[:2]] == [[0, 1, 2, 4], [0, 10, 20, 40]]
    alone = layer_of(3)
    assert merged([alone]) is alone


def test_joined_payloads_stand_in_the_order_of_their_packets() -> None:
    """Rows of several layers are merged; of none, nothing comes out."""
    whole = joined([payloads_of(1, 4), payloads_of(0, 2)])
    assert whole.layer.row.tolist() == [0, 1, 2, 4]
    assert whole.layer.offset.tolist() == [0, 10, 20, 40]
    assert whole.source.tolist() == [0, 1, 2, 4]
    assert len(joined([]).protocol) == 0
