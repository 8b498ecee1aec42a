"""Where `kdiag decode` gets its packets from: captures that lie there, or a live interface."""

from pathlib import Path

from kdiag.errors import CaptureError
from kdiag.exchange.line.phrase import count
from kdiag.pcap.decoder import Counts
from kdiag.pcap.live import LiveCapture
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tls.keylog import KeyLog
from kdiag_cli.commands.decode.options import DecodeOptions

Traffic = CaptureReader | LiveCapture


def open_traffic(options: DecodeOptions) -> Traffic:
    """Return what reads the packets.

    Raises:
        CaptureError: a file is not a capture, or the interface cannot be captured from.
    """
    apart = options.separates_networks
    if options.live is None:
        return CaptureReader(options.files, separates_networks=apart)
    return LiveCapture(options.live, write=options.write, separates_networks=apart)


def read_keylogs(files: list[Path]) -> KeyLog:
    """Return the TLS secrets in key log files.

    Raises:
        CaptureError: a file cannot be read or holds no secret.
    """
    keylog = KeyLog()
    for file in files:
        known = len(keylog)
        try:
            keylog.add(file.read_bytes())
        except OSError as error:
            raise CaptureError(str(file), f"cannot be opened: {error.strerror}") from error
        if len(keylog) == known:
            why = "holds no TLS secret: give the file that SSLKEYLOGFILE named"
            raise CaptureError(str(file), why)
    return keylog


def note_disorder(counts: Counts) -> list[str]:
    """Return the warnings about responses that did not come in the order of their requests."""
    if not counts.overtaken:
        return []
    late = f"{count(counts.overtaken, 'response')} came after one to a later request"
    rule = "a broker answers the requests of a connection in order"
    return [f"{late}, the first in exchange {counts.first_overtaken}: {rule}"]


def note_drops(traffic: Traffic) -> list[str]:
    """Return the warnings about packets that the kernel dropped, if it did."""
    dropped = traffic.dropped if isinstance(traffic, LiveCapture) else 0
    if not dropped:
        return []
    return [f"the kernel dropped {dropped:,} packets that came faster than they were read"]
