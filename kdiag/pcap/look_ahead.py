"""Looking ahead: all topic names in captures, found without reading the rest.

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
from kdiag.pcap.files.window import STDIN
from kdiag.pcap.reader import Source
from kdiag.pcap.tls.keylog import KeyLog


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
