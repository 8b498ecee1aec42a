"""Looking ahead: what is in captures, found before they are read: topic names, client randoms.

A line about a topic id can be printed with its name only if the name is known by then, but the
name may come later. Where the input can be read twice, the names are collected first, when the
first id without a name turns up: packets are put together as ever, but of the exchanges only
those that hold names are read. Captures in which every name comes before its id, as
happens when clients connect within the capture, are read once.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.fence import suppress_faults
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import decode_capture
from kdiag.pcap.encapsulation import NO_PORTS
from kdiag.pcap.files.window import STDIN, open_window
from kdiag.pcap.reader import CaptureReader, Source
from kdiag.pcap.tls.handshake import HELLO_START_BYTES, client_randoms_in
from kdiag.pcap.tls.keylog import DEFAULT_MAX_SECRETS, KeyLog


def can_read_twice(sources: Sequence[Source]) -> bool:
    """Return whether all inputs are files or folders; pipes can be read once."""
    return all(
        isinstance(source, str | Path)
        and source != STDIN
        and (Path(source).is_file() or Path(source).is_dir())
        for source in sources
    )


def learn_all_names(
    names: TopicNames,
    sources: Sequence[Source],
    *,
    ports: Collection[int] = (),
    keylog: KeyLog | None = None,
    tunnel_ports: Mapping[int, str] = NO_PORTS,
) -> None:
    """Read captures once for the topic names in them, and add these to `names`.

    Raises:
        CaptureError: an input is not a capture or cannot be read.
    """
    decoded = decode_capture(sources, ports=ports, keylog=keylog, tunnel_ports=tunnel_ports)
    for item in decoded:
        if isinstance(item, Exchange):
            with suppress_faults():
                names.learn(Dissection(item))


def find_client_randoms(sources: Sequence[Source]) -> frozenset[bytes] | None:
    """Return the client randoms of TLS in captures, as far as each lies in one packet.

    Returns:
        None if an input can be read only once, or there are more than a key log keeps secrets.

    Raises:
        CaptureError: an input is not a capture or cannot be read.
    """
    if not can_read_twice(sources):
        return None
    found: set[bytes] = set()
    for source in CaptureReader(sources).inputs:
        with open_window(source) as window:
            found.update(client_randoms_in(window.data.data))
            # What is at the end of one window may be the start of a hello.
            while window.advance(max(len(window.data) - HELLO_START_BYTES, 0)):
                found.update(client_randoms_in(window.data.data))
                if len(found) > DEFAULT_MAX_SECRETS:
                    return None
    return frozenset(found)
