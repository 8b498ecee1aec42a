import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kdiag.errors import CaptureError, install_command
from kdiag.pcap.encapsulation import UDP_PORT, Encapsulation
from kdiag.pcap.live import ANY_INTERFACE, CaptureChoice, LiveCapture
from kdiag.pcap.reader import CaptureReader
from tiers.attempts import measure_again

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="capturing needs Linux and root"
)
WORD = b"a word that no other traffic on this machine carries"
LAST = b"the last of it"


@contextmanager
def conversation() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield the two ends of a TCP connection over loopback."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0] as accepted,
    ):
        yield client, accepted


def captured_words(live: LiveCapture) -> list[bytes]:
    """Return the payloads equal to the word, up to the last of the conversation.

    Others may use loopback meanwhile, so that it need not ever go idle.
    """
    found: list[bytes] = []
    for batch in live.read_segments():
        data = bytes(batch.data)
        spans = zip(batch.payload_offset.tolist(), batch.payload_bytes.tolist(), strict=True)
        payloads = [data[offset : offset + size] for offset, size in spans]
        found += [payload for payload in payloads if payload == WORD]
        if LAST in payloads:
            break
    return found


def test_a_live_interface_gives_segments_as_a_file_does(tmp_path: Path) -> None:
    """What crosses loopback is seen once, counted, and kept in a file that reads the same."""
    kept = tmp_path / "kept.pcap"
    with LiveCapture("lo", write=kept) as live, conversation() as (client, accepted):
        client.sendall(WORD)
        assert accepted.recv(len(WORD)) == WORD
        client.sendall(LAST)
        assert captured_words(live) == [WORD]
        assert live.packets > 0
        assert live.dropped == 0

    batches = list(CaptureReader([kept]).read_segments())
    assert sum(WORD in bytes(batch.data) for batch in batches) == 1


def test_all_interfaces_give_segments_as_one_does(tmp_path: Path) -> None:
    """Loopback among them, each packet once; the kept file reads the same."""
    kept = tmp_path / "kept.pcap"
    with LiveCapture(ANY_INTERFACE, write=kept) as live, conversation() as (client, accepted):
        client.sendall(WORD)
        assert accepted.recv(len(WORD)) == WORD
        client.sendall(LAST)
        assert captured_words(live) == [WORD]

    assert kept.read_bytes()[20:24] == struct.pack("<I", 276)
    batches = list(CaptureReader([kept]).read_segments())
    assert sum(WORD in bytes(batch.data) for batch in batches) == 1


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump compiles filters")
@pytest.mark.parametrize("interface", ["lo", ANY_INTERFACE])
def test_a_filter_lets_pass_what_it_names(interface: str) -> None:
    """Of two conversations, the packets of one are captured, with all their bytes."""
    with conversation() as (client, accepted), conversation() as (other, _):
        port = client.getpeername()[1]
        choice = CaptureChoice(filter=f"tcp port {port}")
        with LiveCapture(interface, choice=choice) as live:
            for sender in (other, client):
                sender.sendall(WORD)
            assert accepted.recv(len(WORD)) == WORD
            client.sendall(LAST)
            assert captured_words(live) == [WORD]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump compiles filters")
def test_a_wrong_filter_is_an_error_that_says_so() -> None:
    """Nothing is captured without the filter that was asked for."""
    choice = CaptureChoice(filter="tcp prt 9092")
    with pytest.raises(CaptureError, match=r"filter 'tcp prt 9092': .*syntax error"):
        LiveCapture("lo", choice=choice)


@pytest.mark.thorough
def test_an_interface_may_be_promiscuous_but_not_all_of_them() -> None:
    """The kernel counts who wants it: one more, which ends with the capture."""
    choice = CaptureChoice(is_promiscuous=True)
    with pytest.raises(CaptureError, match="any: all interfaces cannot be promiscuous"):
        LiveCapture(ANY_INTERFACE, choice=choice)

    def compare() -> None:
        before = promiscuous_sockets("lo")
        with LiveCapture("lo", choice=choice):
            assert promiscuous_sockets("lo") == before + 1
        assert promiscuous_sockets("lo") == before

    measure_again(compare, 10)  # another program may begin or end a capture meanwhile


def promiscuous_sockets(interface: str) -> int:
    """Return how many sockets want an interface to be promiscuous, of all programs."""
    shown = subprocess.run(
        ["ip", "-d", "-o", "link", "show", interface], capture_output=True, text=True, check=True
    )
    words = shown.stdout.split()
    return int(words[words.index("promiscuity") + 1])


def test_packets_that_nobody_reads_are_a_warning() -> None:
    """It names the interface, and says what to install where that would help."""
    with LiveCapture("lo") as live:
        assert live.warnings == []
        live.index.dissector.lacking[Encapsulation(UDP_PORT, 1701)] += 2
        (warning,) = live.warnings

    assert str(warning) == f"lo: 2 packets of UDP port 1701 need scapy: {install_command('scapy')}"


def test_an_unknown_interface_is_an_error_that_says_so() -> None:
    """The name comes first, then the reason."""
    with pytest.raises(CaptureError, match="no-such-if: cannot be captured from: No such device"):
        LiveCapture("no-such-if")


def test_a_file_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path) -> None:
    """The capture does not start without the file that was asked for."""
    with pytest.raises(CaptureError, match="cannot be written"):
        LiveCapture("lo", write=tmp_path / "none" / "x.pcap")


@pytest.mark.thorough
def test_without_the_right_to_capture_it_says_what_is_needed() -> None:
    """A process without CAP_NET_RAW is told to use sudo."""
    script = (
        "import os; os.setuid(65534)\n"
        "from kdiag.pcap.live import LiveCapture\n"
        "from kdiag.errors import CaptureError\n"
        "try:\n    LiveCapture('lo')\n"
        "except CaptureError as error:\n    print(error)\n"
    )
    lines = [
        "import kdiag.pcap.live",  # loaded before the rights are given up
        script,
    ]
    result = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )

    assert "needs root or CAP_NET_RAW" in result.stdout
