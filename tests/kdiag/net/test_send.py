from kdiag.clock import ManualClock
from kdiag.net.send import NetworkSend, RawSend
from secure_ends.memory_transport import MemoryTransport
from tiers.cases import for_each


def test_a_frame_is_written_behind_its_length() -> None:
    """Parts are one frame, and one write."""
    transport, send = MemoryTransport(), NetworkSend("1", [b"head", b"", b"body"])

    assert (send.size_bytes, send.payload) == (12, b"headbody")
    assert send.write_to(transport, ManualClock()) == 12
    assert transport.written == b"\0\0\0\x08headbody"
    assert send.is_completed


def test_an_empty_frame_is_a_length_of_zero() -> None:
    """SASL sends such frames."""
    transport, send = MemoryTransport(), NetworkSend("1", [])
    send.write_to(transport, ManualClock())

    assert (transport.written, send.payload) == (b"\0\0\0\0", b"")


@for_each("step", [1, 3, 4, 5, 11])
def test_a_frame_is_written_step_by_step(step: int) -> None:
    """However little the transport takes at a time, it is complete with the last byte."""
    transport, send = MemoryTransport(), NetworkSend("1", [b"headbody"])
    taken = 0
    while taken < 12:
        assert not send.is_completed
        transport.room = step
        taken += send.write_to(transport, ManualClock())

    assert (taken, send.is_completed) == (12, True)
    assert transport.written == b"\0\0\0\x08headbody"


def test_a_send_can_become_complete_without_a_byte_taken() -> None:
    """What the transport holds back is not sent; once it went out, the send is complete."""
    transport, send = MemoryTransport(), NetworkSend("1", [b"body"])
    transport.holds_back = True
    assert send.write_to(transport, ManualClock()) == 8
    assert (send.is_completed, send.last_write_ns) == (False, None)
    transport.holds_back = False
    assert send.write_to(transport, ManualClock()) == 0
    assert send.is_completed


def test_a_send_knows_when_its_first_and_its_last_bytes_went() -> None:
    """A transport that takes nothing does not begin it; each time is since 1970."""
    clock, transport = ManualClock(epoch_ns=100), MemoryTransport()
    send = NetworkSend("1", [b"body"])
    for advance_ns, room in ((0, 0), (1, 3), (2, 2), (4, 9)):
        clock.advance(advance_ns)
        transport.room = room
        send.write_to(transport, clock)

    assert (send.first_write_ns, send.last_write_ns) == (101, 107)


def test_a_send_tells_how_far_it_is() -> None:
    """Its repr counts bytes, the length prefix included, and shows none."""
    transport, send = MemoryTransport(), NetworkSend("1", [b"secret"])
    transport.room = 5
    send.write_to(transport, ManualClock())

    assert repr(send) == "<NetworkSend to 1: 5 of 10 bytes>"


def test_bytes_can_be_sent_as_they_are() -> None:
    """Without a length before them: they are a part of a frame."""
    transport, send = MemoryTransport(), RawSend("1", b"part", lambda: None)
    assert (send.size_bytes, send.payload) == (4, b"part")
    send.write_to(transport, ManualClock())
    assert (transport.written, send.is_completed) == (b"part", True)
