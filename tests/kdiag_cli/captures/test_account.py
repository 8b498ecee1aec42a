import json
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP, fragment
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet as ScapyPacket
from scapy.packet import Raw

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.model import Protocol
from kdiag.exchange.summary.counts import Summary
from kdiag_cli.captures.account import port_hint
from kdiag_cli.captures.reading import CaptureReading, CaptureResult
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs
from recordings.capture_writer import Packet, Section, savefile, tcp_frame
from recordings.exchange_maker import make_connection

ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
IPV4 = IP(src="10.0.0.1", dst="10.0.0.2")
ADDRESS = bytes(ETHER / ARP(psrc="10.0.0.1", hwsrc="02:00:00:00:00:01"))
NAME = bytes(ETHER / IPV4 / UDP(sport=53, dport=40000) / Raw(b"name"))
SEGMENT = ETHER / IPV4 / TCP(sport=40000, dport=9092) / Raw(bytes(range(200)))


def read(path: Path, *packets: bytes | Packet | ScapyPacket) -> CaptureResult:
    """Return what comes of a capture of some packets."""
    written = [each if isinstance(each, Packet) else Packet(bytes(each)) for each in packets]
    path.write_bytes(savefile(written))
    return CaptureReading(CaptureInputs([str(path)])).read(None)


def fragments(packet: ScapyPacket) -> list[ScapyPacket]:
    """Return the fragments of a packet."""
    split: Any = fragment
    found: list[ScapyPacket] = split(packet, 64)
    return found


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Return where a capture may be written."""
    return tmp_path / "traffic.pcap"


def test_what_is_not_tcp_is_one_line_and_no_loss(capture: Path) -> None:
    """ARP and DNS are in every capture."""
    result = read(capture, tcp_frame(b"x"), NAME, NAME, ADDRESS, ADDRESS, ADDRESS)

    assert result.totals.closing_line == "passed over 5 of 6 packets: 3 ARP, 2 DNS (UDP 53)"
    assert result.totals.warnings == []
    assert result.exit_code is ExitCode.DONE


def test_where_everything_is_tcp_nothing_is_told(capture: Path) -> None:
    """Silence means that all was read."""
    assert read(capture, tcp_frame(b"x")).totals.closing_line == ""


def test_headers_that_are_cut_off_may_have_been_kafka(capture: Path) -> None:
    """The result is partial, and a warning says why."""
    cut = Packet(tcp_frame(b"x" * 100)[:40], original=154)
    result = read(capture, cut, tcp_frame(b"x"))

    assert result.totals.warnings == [
        "1 packet that may be Kafka could not be read: 1 cut off in a header (TCP)"
    ]
    assert result.exit_code is ExitCode.PARTIAL


def test_fragments_without_their_rest_may_have_been_kafka(capture: Path) -> None:
    """Those of TCP; of UDP nothing is said, for it carries no Kafka."""
    first = fragments(SEGMENT)[0]
    result = read(capture, first)
    assert result.exit_code is ExitCode.PARTIAL
    assert result.totals.closing_line == (
        "passed over 1 of 1 packet: 1 fragments without their rest (TCP)"
    )

    first = fragments(ETHER / IPV4 / UDP(dport=9) / Raw(bytes(200)))[0]
    assert read(capture, first).exit_code is ExitCode.DONE


def test_cut_payloads_matter_where_nothing_tells_what_they_are(capture: Path) -> None:
    """A connection of which only headers are here may be anything."""
    frame = tcp_frame(b"x" * 100)
    result = read(capture, Packet(frame[:54], original=len(frame)))

    assert result.totals.closing_line == "1 segment cut by the snap length"
    assert result.exit_code is ExitCode.PARTIAL

    frame = tcp_frame(b"GET / HTTP/1.1" + bytes(100))
    assert read(capture, Packet(frame[:80], original=len(frame))).exit_code is ExitCode.DONE


def test_packets_that_the_recorder_dropped_are_told(tmp_path: Path) -> None:
    """Recorders write their statistics at the end of the file."""
    section = Section()
    file = section.start() + section.interface() + section.packet(tcp_frame(b"x"))
    file += section.statistics(interface_drops=3, system_drops=1200)
    path = tmp_path / "drops.pcapng"
    path.write_bytes(file)
    result = CaptureReading(CaptureInputs([str(path)])).read(None)

    assert result.totals.warnings == [
        "the capturing interface dropped 3 packets",
        "the kernel dropped 1,200 packets that came faster than they were read",
    ]
    assert result.totals.capture["dropped"] == {"interface": 3, "system": 1200}
    assert result.exit_code is ExitCode.PARTIAL


def test_lines_of_key_logs_that_hold_no_secret_are_told(capture: Path, tmp_path: Path) -> None:
    """A truncated secret would otherwise look like none."""
    keys = tmp_path / "keys"
    keys.write_text("CLIENT_RANDOM " + "ab" * 32 + " " + "cd" * 48 + "\nCLIENT_RANDOM ab\n")
    read(capture, tcp_frame(b"x"))
    reading = CaptureReading(CaptureInputs([str(capture)], keylogs=[keys]))

    assert reading.read(None).totals.closing_line == "1 line of key logs without a secret"


def test_the_account_is_a_document(capture: Path) -> None:
    """It is made of what JSON can say."""
    document = read(capture, tcp_frame(b"x"), ADDRESS).totals.capture

    assert json.loads(json.dumps(document)) == {
        "tcp_segments": 1,
        "passed_over": 1,
        "reasons": [
            {"why": "not_read", "layer": "ethertype", "number": 2054, "name": "ARP", "packets": 1}
        ],
        "cut_packets": 0,
        "cut_segments": 0,
        "dropped": {"interface": 0, "system": 0},
        "stray_segments": 0,
        "overlap_mismatches": 0,
        "keylog": {"bad_lines": 0, "left_out": 0},
    }


def test_a_port_is_named_only_where_that_can_help() -> None:
    """The port that helps most first; what is encrypted takes its keys instead."""
    summary = Summary(TopicNames())
    summary.add_connection(make_connection(protocol=Protocol.EMPTY))
    assert port_hint(summary) == ""
    summary.add_connection(make_connection(protocol=Protocol.TLS))
    assert port_hint(summary) == "; --keylog reads TLS with its keys"

    for broker in ("10.0.0.2:7777", "10.0.0.2:9095", "10.0.0.3:9095"):
        summary.add_connection(make_connection(protocol=Protocol.UNKNOWN, broker=broker))
    assert port_hint(summary) == (
        "; --port 9095 or --port 7777 reads what nothing identified as Kafka"
        "; --keylog reads TLS with its keys"
    )
