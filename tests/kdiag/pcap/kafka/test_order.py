from kdiag.pcap.kafka.order import MAX_WAIT_PACKETS, place


def test_a_frame_has_its_place_where_it_starts_unless_it_becomes_known_much_later() -> None:
    """Nobody waits for more than `MAX_WAIT_PACKETS`."""
    assert place(5, 5) == 5
    assert place(5, 5 + MAX_WAIT_PACKETS) == 5
    assert place(5, 6 + MAX_WAIT_PACKETS) == 6 + MAX_WAIT_PACKETS
