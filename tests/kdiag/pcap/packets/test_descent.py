import numpy as np
import numpy.typing as npt

from kdiag.pcap.encapsulation import ETHERTYPE, LINK_TYPE, UDP_PORT, Encapsulation
from kdiag.pcap.packets.descent import Descent
from kdiag.pcap.packets.layer import ProtocolLayer

DATA = np.zeros(100, np.uint8)


def layer(*rows: int) -> ProtocolLayer:
    """Return packets of ten bytes each."""
    row = np.array(rows, np.int64)
    return ProtocolLayer(row, row * 10, np.full(len(row), 10), np.full(len(row), 10))


def rows_of(layers: list[ProtocolLayer]) -> list[list[int]]:
    """Return which packets they are."""
    return [each.row.tolist() for each in layers]


def test_packets_go_by_their_numbers() -> None:
    """Each step gets its own packets, and what no step reads is kept as such."""
    descent = Descent(DATA)
    descent.sort(ETHERTYPE, np.array([5, 6, 5, 7]), layer(0, 1, 2, 3))
    descent.run({Encapsulation(ETHERTYPE, 5): Descent.reach_ip})

    assert rows_of(descent.take_ip()) == [[0, 2]]
    assert [(str(of), each.row.tolist()) for of, each in descent.take_unread()] == [
        ("ethertype 0x0006", [1]),
        ("ethertype 0x0007", [3]),
    ]
    assert descent.is_done
    assert not descent.take_ip()
    assert not descent.take_unread()


def test_numbers_that_are_not_known_lead_nowhere() -> None:
    """Most datagrams are no tunnels, and there are many ports."""
    descent = Descent(DATA, known={UDP_PORT: (53, 4789)})
    descent.sort(UDP_PORT, np.array([4789, 9, 53]), layer(0, 1, 2))
    descent.sort(LINK_TYPE, np.array([1]), layer(3))
    descent.run({})

    assert [str(of) for of, _ in descent.take_unread()] == [
        "UDP port 53",
        "UDP port 4789",
        "link type 1",
    ]


def test_packets_that_wait_for_one_step_are_read_together() -> None:
    """They come to it in order, by whatever way they came."""
    seen: list[list[int]] = []

    def send(descent: Descent, packets: ProtocolLayer) -> None:
        descent.send(ETHERTYPE, 9, packets)

    def look(_: Descent, packets: ProtocolLayer) -> None:
        seen.append(packets.row.tolist())

    descent = Descent(DATA)
    descent.sort(ETHERTYPE, np.array([2, 1, 2]), layer(0, 1, 2))
    steps = {Encapsulation(ETHERTYPE, 1): send, Encapsulation(ETHERTYPE, 2): send}
    descent.run({**steps, Encapsulation(ETHERTYPE, 9): look})

    assert seen == [[0, 1, 2]]


def test_headers_without_end_lead_nowhere() -> None:
    """A step that always sends on is left after a while, and the next round begins anew."""
    calls: list[npt.NDArray[np.int64]] = []

    def circle(descent: Descent, packets: ProtocolLayer) -> None:
        calls.append(packets.row)
        descent.send(ETHERTYPE, 1, packets)

    descent = Descent(DATA)
    descent.send(ETHERTYPE, 1, layer(0))
    descent.run({Encapsulation(ETHERTYPE, 1): circle})

    assert len(calls) == 32
    assert descent.is_done
