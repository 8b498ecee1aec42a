"""The account of a reading: what became of every packet, and what may be missing.

Most packets that are passed over are not TCP, and one line tells how many and what they are. What
may have been Kafka is a warning of its own, and makes the result a partial one: headers that are
cut off, fragments without their rest, packets that the capturing machine dropped.
"""

from typing import Any, Final, NamedTuple

from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import Protocol
from kdiag.exchange.summary.counts import Summary
from kdiag.pcap.encapsulation import PassedOver
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tcp.counts import Counts
from kdiag.pcap.tls.keylog import KeyLog
from kdiag_cli.captures.source import Traffic

_MOST_PORTS: Final = 3


class Drops(NamedTuple):
    """The packets that the capturing machine did not write.

    Attributes:
        interface: those that its network card or driver dropped.
        system: those that its kernel dropped, because they came faster than they were read.
    """

    interface: int
    system: int


class CaptureAccount(NamedTuple):
    """What became of the packets of a reading.

    Attributes:
        packets: how many there are.
        tcp_segments: those that gave a TCP segment.
        cut_packets: those of which the capture holds only the beginning.
        cut_segments: TCP segments of whose payload it holds only the beginning.
        passed_over: those that gave no segment, by cause.
        drops: those that are not in the capture.
        counts: of the decoder.
        bad_keylog_lines, left_out_secrets: of key logs.
    """

    packets: int
    tcp_segments: int
    cut_packets: int
    cut_segments: int
    passed_over: PassedOver
    drops: Drops
    counts: Counts
    bad_keylog_lines: int
    left_out_secrets: int

    def warnings(self) -> list[str]:
        """Return what may have been Kafka, as lines for people."""
        found = []
        alarming = self.passed_over.alarming()
        if alarming.packets:
            what = f"{count(alarming.packets, 'packet')} that may be Kafka could not be read"
            found.append(f"{what}: {alarming.text()}")
        interface, system = self.drops
        if interface:
            found.append(f"the capturing interface dropped {count(interface, 'packet')}")
        if system:
            why = "that came faster than they were read"
            found.append(f"the kernel dropped {count(system, 'packet')} {why}")
        return found

    def closing_line(self) -> str:
        """Return what was passed over as one line, the most frequent first; empty if nothing."""
        parts = []
        if self.passed_over.packets:
            of = f"{self.passed_over.packets:,} of {count(self.packets, 'packet')}"
            parts.append(f"passed over {of}: {self.passed_over.text()}")
        if self.cut_segments:
            parts.append(f"{count(self.cut_segments, 'segment')} cut by the snap length")
        if self.counts.overlap_mismatches:
            noun = count(self.counts.overlap_mismatches, "segment")
            parts.append(f"{noun} with other bytes than came before")
        if self.counts.strays:
            noun = count(self.counts.strays, "segment")
            parts.append(f"{noun} with numbers that do not fit their connection")
        if self.bad_keylog_lines:
            parts.append(f"{count(self.bad_keylog_lines, 'line')} of key logs without a secret")
        if self.left_out_secrets:
            parts.append(f"{count(self.left_out_secrets, 'secret')} more than are kept")
        return "; ".join(parts)

    def is_partial(self, summary: Summary) -> bool:
        """Return whether Kafka may be missing from the result.

        Args:
            summary: of the connections: cut bytes matter where nothing tells their protocol.
        """
        may_hide_kafka = self.cut_segments > 0 and summary.protocols[Protocol.UNKNOWN] > 0
        return self.passed_over.may_be_kafka or any(self.drops) or may_hide_kafka

    def document(self) -> dict[str, Any]:
        """Return the account for programs."""
        return {
            "tcp_segments": self.tcp_segments,
            "passed_over": self.passed_over.packets,
            "reasons": self.passed_over.document(),
            "cut_packets": self.cut_packets,
            "cut_segments": self.cut_segments,
            "dropped": self.drops._asdict(),
            "stray_segments": self.counts.strays,
            "overlap_mismatches": self.counts.overlap_mismatches,
            "keylog": {"bad_lines": self.bad_keylog_lines, "left_out": self.left_out_secrets},
        }


def account_of(traffic: Traffic, counts: Counts, keylog: KeyLog) -> CaptureAccount:
    """Return the account of what was read so far."""
    index = traffic.index
    if isinstance(traffic, CaptureReader):
        drops = Drops(traffic.drops.interface, traffic.drops.system)
    else:
        drops = Drops(0, traffic.dropped)
    return CaptureAccount(
        index.packets,
        index.tcp_packets,
        index.cut_packets,
        index.cut_segments,
        index.passed_over(),
        drops,
        counts,
        keylog.bad_lines,
        keylog.left_out,
    )


def port_hint(summary: Summary) -> str:
    """Return how connections can be read that were not; empty if there is no way."""
    hints = []
    ports = [port for port, _ in summary.unidentified_ports.most_common(_MOST_PORTS)]
    if ports:
        options = " or ".join(f"--port {port}" for port in ports)
        hints.append(f"; {options} reads what nothing identified as Kafka")
    if summary.protocols[Protocol.TLS] and not summary.troubles:
        hints.append("; --keylog reads TLS with its keys")
    return "".join(hints)
