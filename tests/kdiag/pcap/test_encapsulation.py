from kdiag.pcap.encapsulation import (
    ETHERTYPE,
    IP_LAYER,
    IP_PROTOCOL,
    LINK_TYPE,
    TCP_LAYER,
    UDP_PORT,
    Cause,
    Encapsulation,
    Obstacle,
    PassedOver,
)
from tiers.cases import for_each


def test_an_encapsulation_is_told_by_its_number_and_named_where_it_has_a_name() -> None:
    """Ethertypes are written as everybody writes them."""
    assert str(Encapsulation(ETHERTYPE, 0x0806)) == "ethertype 0x0806"
    assert Encapsulation(ETHERTYPE, 0x0806).name == "ARP"
    assert str(Encapsulation(UDP_PORT, 9)) == "UDP port 9"
    assert Encapsulation(UDP_PORT, 9).name is None


@for_each(
    ("cause", "text", "may_be_kafka"),
    [
        (Cause(Obstacle.NOT_READ, ETHERTYPE, 0x0806), "ARP", False),
        (Cause(Obstacle.NOT_READ, UDP_PORT, 53), "DNS (UDP 53)", False),
        (Cause(Obstacle.NOT_READ, UDP_PORT, 4711), "UDP port 4711", False),
        (Cause(Obstacle.NOT_READ, LINK_TYPE, 127), "802.11", False),
        (Cause(Obstacle.CUT, TCP_LAYER), "cut off in a header (TCP)", True),
        (Cause(Obstacle.CUT, LINK_TYPE, 1), "cut off in a header (Ethernet)", True),
        (Cause(Obstacle.BAD, IP_LAYER), "bad header (IP)", True),
        (Cause(Obstacle.BAD, UDP_PORT, 4789), "bad header (VXLAN (UDP 4789))", False),
        (Cause(Obstacle.NEEDS_SCAPY, UDP_PORT, 1701), "UDP port 1701, which needs scapy", True),
        (Cause(Obstacle.TOO_DEEP, IP_PROTOCOL, 4), "too deep in tunnels (IP in IP)", True),
        (Cause(Obstacle.LOST_FRAGMENT, IP_PROTOCOL, 6), "fragments without their rest (TCP)", True),
        (
            Cause(Obstacle.LOST_FRAGMENT, IP_PROTOCOL, 17),
            "fragments without their rest (UDP)",
            False,
        ),
    ],
)
def test_a_cause_says_whether_tcp_may_be_lost(
    cause: Cause,
    text: str,
    may_be_kafka: bool,  # noqa: FBT001 - a row of the table
) -> None:
    """ARP is not TCP; a header that is cut off may have led to it."""
    assert str(cause) == text
    assert cause.may_be_kafka is may_be_kafka


def test_causes_are_told_by_the_number_of_their_packets() -> None:
    """The biggest first; what is rare is one number at the end."""
    passed = PassedOver()
    for number in range(1, 8):
        passed.count(Obstacle.NOT_READ, UDP_PORT, 60_000 + number, number * 1000)
    passed.count(Obstacle.NOT_READ, ETHERTYPE, 0x0806, 0)
    passed.count(Obstacle.CUT, TCP_LAYER, None, 2)

    assert passed.packets == 28_002
    assert passed.text(most=2) == "7,000 UDP port 60007, 6,000 UDP port 60006, 15,002 others"
    assert passed.alarming().text() == "2 cut off in a header (TCP)"
    assert passed.may_be_kafka
    first, *_, last = passed.document()
    assert first == {
        "why": "not_read",
        "layer": "UDP port",
        "number": 60_007,
        "name": None,
        "packets": 7000,
    }
    assert last == {"why": "cut_header", "layer": "TCP", "number": None, "name": None, "packets": 2}


def test_numbers_beyond_16_bits_are_one() -> None:
    """So that hostile link types cannot fill the memory."""
    passed = PassedOver()
    for number in (70_000, 80_000, 1 << 31):
        passed.count(Obstacle.NOT_READ, LINK_TYPE, number, 1)

    assert passed.counts == {Cause(Obstacle.NOT_READ, LINK_TYPE, 65_535): 3}
