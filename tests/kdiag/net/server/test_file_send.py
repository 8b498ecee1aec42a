import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdiag.clock import ManualClock
from kdiag.net.server.file_send import SMALL_BYTES, FileRegion, FileSend
from kdiag.net.transport import PlaintextTransport, Transport
from secure_ends.memory_transport import MemoryTransport

LARGE = bytes(range(256)) * 64


@pytest.fixture
def log(tmp_path: Path) -> Iterator[FileRegion]:
    """Return a region of a file that has bytes around it."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"before" + LARGE + b"behind")
    with path.open("rb") as file:
        yield FileRegion(file, file.fileno(), len(b"before"), len(LARGE))


def received(send: FileSend, size: int) -> bytes:
    """Return what a peer gets of a send that is written until it is complete."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0)
        transport: Transport = PlaintextTransport(ours, "peer:1")
        data = b""
        while not send.is_completed or len(data) < size:
            send.write_to(transport, ManualClock())
            data += theirs.recv(1000)
        return data


def test_a_frame_has_bytes_and_parts_of_files_in_their_order(log: FileRegion) -> None:
    """What is before and behind the region in its file is not sent."""
    send = FileSend("1", [b"head", log, b"mid", b"dle", log, b"end"])
    frame = b"head" + LARGE + b"middle" + LARGE + b"end"
    assert send.size_bytes == 4 + len(frame)
    assert send.payload == frame
    assert received(send, len(frame) + 4) == len(frame).to_bytes(4) + frame
    assert repr(send) == f"<FileSend to 1: {len(frame) + 4} of {len(frame) + 4} bytes>"


@pytest.mark.parametrize("step", [1_000, 4_096, 16_388])
def test_a_frame_survives_partial_writes(log: FileRegion, step: int) -> None:
    """Wherever the transport stops: inside bytes, inside a region, or between them."""
    transport, send = MemoryTransport(), FileSend("1", [log, b"end"])
    while not send.is_completed:
        transport.room = step
        send.write_to(transport, ManualClock())
    assert transport.written == (len(LARGE) + 3).to_bytes(4) + LARGE + b"end"


def test_a_small_region_is_sent_with_the_bytes_around_it(log: FileRegion) -> None:
    """It is one write."""
    small = FileRegion(log, log.fd, 6, SMALL_BYTES - 1)
    transport, send = MemoryTransport(), FileSend("1", [b"head", small, b"", b"end"])
    assert send.write_to(transport, ManualClock()) == send.size_bytes
    assert transport.written[4:] == b"head" + LARGE[: SMALL_BYTES - 1] + b"end"
    assert send._pieces == [transport.written]


def test_a_file_that_is_cut_meanwhile_ends_the_send(log: FileRegion) -> None:
    """The peer was promised bytes that are not there any more; the connection cannot go on."""
    send = FileSend("1", [log])
    ours, theirs = socket.socketpair()
    with ours, theirs:
        transport = PlaintextTransport(ours, "peer:1")
        os.truncate(f"/proc/self/fd/{log.fd}", 0)
        with pytest.raises(OSError, match="the file to be sent ends before byte 6"):
            send.write_to(transport, ManualClock())
    with pytest.raises(OSError, match="ends before"):
        log.read()


def test_a_region_keeps_its_file_open(log: FileRegion) -> None:
    """Its length is its size; it says where it is."""
    assert len(log) == len(LARGE)
    assert log.read() == LARGE
    assert repr(log) == "<FileRegion of 16384 bytes from 6>"
