import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.clock import ManualClock
from kdiag.errors import AuthenticationError, ConnectError, Layer
from kdiag.net.memory_pool import SimpleMemoryPool
from kdiag.net.receive import InvalidReceiveError, NetworkReceive
from kdiag.net.transport import EndOfStreamError
from secure_ends.memory_transport import MemoryTransport
from tiers.cases import for_each


def refuse(first: bytes, max_bytes: int = 100) -> InvalidReceiveError:
    """Return the error about the first bytes of a peer."""
    with pytest.raises(InvalidReceiveError) as caught:
        NetworkReceive("1", max_bytes).read_from(MemoryTransport(first), ManualClock())
    return caught.value


def test_bytes_read_are_counted_with_the_prefix() -> None:
    """Each call returns what it has read: nothing, a part of the prefix, the rest."""
    transport, receive = MemoryTransport(), NetworkReceive("1")
    counts = []
    for chunk in (b"", b"\0\0", b"\0\x08he", b"", b"adbo", b"dynext"):
        transport.incoming += chunk
        counts.append(receive.read_from(transport, ManualClock()))

    assert counts == [0, 2, 4, 0, 4, 2]
    assert (receive.is_completed, receive.size, receive.payload) == (True, 8, b"headbody")
    assert transport.incoming == b"next"


@given(frames=st.lists(st.binary(max_size=40)), cuts=st.lists(st.integers(1, 30)))
def test_any_cut_of_a_stream_gives_the_same_frames(frames: list[bytes], cuts: list[int]) -> None:
    """How TCP cuts the stream does not show."""
    stream = b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)
    transport, received = MemoryTransport(), list[bytes]()
    receive = NetworkReceive("1")
    for size in (*cuts, len(stream)):
        transport.incoming += stream[:size]
        stream = stream[size:]
        while receive.read_from(transport, ManualClock()) or receive.is_completed:
            if receive.is_completed:
                received.append(receive.payload)
                receive = NetworkReceive("1")

    assert received == frames


def test_an_empty_frame_is_whole_with_its_prefix() -> None:
    """A length of 0 is valid: SASL sends such frames."""
    pool = SimpleMemoryPool(10, 10)
    receive = NetworkReceive("1", pool=pool)
    assert receive.read_from(MemoryTransport(bytes(4)), ManualClock()) == 4

    assert (receive.is_completed, receive.payload, pool.available_bytes) == (True, b"", 10)


def test_a_receive_knows_when_its_first_and_last_bytes_came() -> None:
    """The first byte is the prefix's; both times are since 1970."""
    clock, transport, receive = ManualClock(epoch_ns=100), MemoryTransport(), NetworkReceive("1")
    for chunk in (b"", b"\0", b"\0\0\2a", b"b"):
        clock.advance(1)
        transport.incoming += chunk
        receive.read_from(transport, clock)

    assert (receive.first_byte_ns, receive.last_byte_ns) == (102, 104)


def test_the_end_of_the_stream_within_a_frame_is_an_error() -> None:
    """Half a frame is none."""
    transport, receive = MemoryTransport(b"\0\0\0\5ab"), NetworkReceive("1")
    transport.is_ended = True
    receive.read_from(transport, ManualClock())
    with pytest.raises(EndOfStreamError):
        receive.read_from(transport, ManualClock())


@for_each("size", [-1, -(1 << 31), 101, (1 << 31) - 1])
def test_a_length_that_no_frame_may_have_is_refused(size: int) -> None:
    """The error shows the bytes, the number and what is allowed."""
    first = struct.pack(">i", size)
    error = refuse(first)

    assert (error.address, error.layer, error.first_bytes) == ("broker:9092", Layer.KAFKA, first)
    assert f"are {first.hex(' ')}, which is {size}" in error.why
    assert "from 0 to 100" in error.why
    assert "TLS" in error.fix


@for_each(
    ("first", "layer", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", Layer.KAFKA, '"HTTP/1.1 400 Bad Request"'),
        (b"\x15\x03\x03\x00\x02\x02\x46", Layer.TLS, "protocol_version"),
        (b"-ERR unknown command\r\n", Layer.KAFKA, "Redis"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Layer.KAFKA, '"SSH-2.0-OpenSSH_9.2"'),
    ],
)
def test_who_speaks_there_is_named(first: bytes, layer: Layer, words: str) -> None:
    """What makes no sense as a length often makes sense as the beginning of something else."""
    error = refuse(first, 100 * 1024 * 1024)

    assert error.layer is layer
    assert words in error.why
    assert error.first_bytes == first
    assert isinstance(error, ConnectError)
    assert not isinstance(error, AuthenticationError)


def test_a_peer_that_is_gone_after_its_first_bytes_is_named_nevertheless() -> None:
    """Four bytes are enough to refuse, and often to tell who it was."""
    transport = MemoryTransport(b"HTTP")
    transport.is_ended = True
    with pytest.raises(InvalidReceiveError, match="web server"):
        NetworkReceive("1").read_from(transport, ManualClock())


def test_a_lying_length_takes_no_memory() -> None:
    """A frame of 90 MB that never comes costs one step; as bytes come, the step doubles."""
    transport, receive = MemoryTransport(struct.pack(">i", 90_000_000)), NetworkReceive("1")
    tracemalloc.start()
    try:
        for _ in range(4):
            transport.incoming += bytes(100_000)
            receive.read_from(transport, ManualClock())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1_500_000
    assert max(transport.read_sizes) < 500_000


def test_a_pool_without_memory_stops_a_receive_behind_its_prefix() -> None:
    """The size is known, nothing more is read until there is memory, and `close` gives it back."""
    pool = SimpleMemoryPool(10, 10, is_strict=True)
    transport, receive = MemoryTransport(b"\0\0\0\4abcd"), NetworkReceive("1", pool=pool)
    assert pool.try_allocate(7)
    assert receive.read_from(transport, ManualClock()) == 4
    assert (receive.is_memory_needed, receive.received_bytes) == (True, 0)
    assert transport.incoming == b"abcd"
    pool.release(7)
    assert receive.read_from(transport, ManualClock()) == 4
    assert (receive.is_memory_needed, receive.payload) == (False, b"abcd")
    assert pool.available_bytes == 6
    receive.close()
    receive.close()
    assert pool.available_bytes == 10


def test_memory_is_reserved_as_bytes_arrive() -> None:
    """Eight bytes of a claim of 100 MiB reserve a step, 10,000 at most twice what has come."""
    pool = SimpleMemoryPool(100 << 20, 100 << 20)
    transport = MemoryTransport(struct.pack(">ihh", 100 << 20, 0, 9))
    receive, reserved = NetworkReceive("1", 100 << 20, pool), []
    for more in (0, 10_000, 100_000):
        transport.incoming += bytes(more)
        while receive.read_from(transport, ManualClock()):
            pass
        reserved.append((100 << 20) - pool.available_bytes)
    receive.close()

    assert reserved == [4096, 16384, 131072]
    assert pool.available_bytes == 100 << 20


@for_each("size", [1, 4096, 4097, 20_000, 65_536])
def test_a_frame_of_up_to_64_kib_that_is_here_is_read_at_once(size: int) -> None:
    """Its buffer grows in steps, and it reserves its size and nothing more."""
    pool = SimpleMemoryPool(100_000, 100_000)
    receive = NetworkReceive("1", pool=pool)
    data = bytes(number % 251 for number in range(size))
    transport = MemoryTransport(struct.pack(">i", size) + data + b"next")
    assert receive.read_from(transport, ManualClock()) == 4 + size
    assert (receive.payload, pool.available_bytes) == (data, 100_000 - size)
    assert transport.incoming == b"next"


def test_a_receive_that_runs_out_of_memory_midway_goes_on_when_there_is_some() -> None:
    """Nothing that it has read is lost."""
    pool, data = SimpleMemoryPool(8192, 8192), bytes(range(256)) * 32
    receive = NetworkReceive("1", pool=pool)
    transport = MemoryTransport(struct.pack(">i", len(data)) + data)
    assert pool.try_allocate(4096)
    assert receive.read_from(transport, ManualClock()) == 4 + 4096
    assert receive.is_memory_needed
    pool.release(4096)
    receive.read_from(transport, ManualClock())
    assert (receive.is_memory_needed, receive.payload) == (False, data)
    receive.close()
    assert pool.available_bytes == 8192


def test_a_frame_that_the_pool_can_never_hold_is_refused() -> None:
    """It would wait for ever."""
    receive = NetworkReceive("1", 100, SimpleMemoryPool(10, 10))
    with pytest.raises(InvalidReceiveError, match="from 0 to 10 was expected"):
        receive.read_from(MemoryTransport(struct.pack(">i", 11)), ManualClock())


def test_a_receive_knows_what_is_missing() -> None:
    """Nothing before its size is known, and nothing once it is whole."""
    transport, receive = MemoryTransport(b"\0\0"), NetworkReceive("1")
    missing = []
    for more in (b"", b"\0\4", b"bo", b"dy"):
        transport.incoming += more
        receive.read_from(transport, ManualClock())
        missing.append(receive.missing_bytes)

    assert missing == [0, 4, 2, 0]


def test_a_receive_tells_how_far_it_is() -> None:
    """Its repr counts bytes and shows none."""
    transport, receive = MemoryTransport(b"\0\0\0\x06sec"), NetworkReceive("1")
    before = repr(receive)
    receive.read_from(transport, ManualClock())

    assert before == "<NetworkReceive from 1: 0 of an unknown number of bytes>"
    assert repr(receive) == "<NetworkReceive from 1: 3 of 6 bytes>"
