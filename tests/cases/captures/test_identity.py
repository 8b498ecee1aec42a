"""Who is the client, and is it Kafka at all: captures cut at responses, and other protocols."""

import os
import struct
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folders import CAPTURES
from kdiag.exchange.model import Connection, Exchange, Protocol
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.reader import CaptureReader
from recordings.segment_tape import (
    BROKER,
    CLIENT,
    Numbered,
    Talk,
    batches,
    request,
    response,
    sized,
)
from tiers.cases import for_each
from tiers.sampling import sample

SHIPPED = sorted(CAPTURES.glob("*.pcap"))
REFERENCE = sorted(Path(os.environ.get("KDIAG_REFERENCE", "/nowhere"), "captures").glob("*.pcap*"))
CUTS = 3
"""How many cuts of each capture; all 11,389 with KDIAG_EXHAUSTIVE=1, which takes three minutes."""
PACKETS = (12, 60, 1000)
"""So many packets are left behind the cuts: with few of them there is little evidence."""

OTHER_PORT = (0x0A000002 << 16) | 7000


def columns(batch: SegmentBatch, rows: Any) -> dict[str, Any]:
    """Return copies of some rows of a batch."""
    named = batch._asdict()
    return {
        name: column[rows].copy()
        for name, column in named.items()
        if name != "data" and column is not None
    }


def read(path: Path) -> tuple[CaptureReader, list[SegmentBatch]]:
    """Return the segments of a capture."""
    reader = CaptureReader([path])
    found = [
        batch._replace(data=bytes(batch.data), **columns(batch, slice(None)))
        for batch in reader.read_segments()
    ]
    return reader, found


def decode(
    reader: CaptureReader | None, found: Sequence[SegmentBatch]
) -> tuple[list[Exchange], list[Connection]]:
    """Return the exchanges and connections of segments."""
    decoder = CaptureDecoder(Numbered() if reader is None else reader.addresses)
    items = [item for batch in found for item in decoder.feed(batch)] + decoder.finish()
    exchanges = [item for item in items if isinstance(item, Exchange)]
    return exchanges, [item for item in items if isinstance(item, Connection)]


def cut(found: Sequence[SegmentBatch], first: int, count: int) -> list[SegmentBatch]:
    """Return so many segments from a packet on."""
    left = []
    for batch in found:
        rows = np.flatnonzero(batch.packet >= first)[:count]
        count -= len(rows)
        if len(rows):
            left.append(batch._replace(**columns(batch, rows)))
    return left


@pytest.mark.thorough
@pytest.mark.sampled(20)
@pytest.mark.parametrize("path", SHIPPED + REFERENCE, ids=lambda path: path.name)
def test_a_capture_that_begins_with_a_response_has_the_same_clients(path: Path) -> None:
    """Its id may look like an API and version; a response is not a request for that."""
    reader, whole = read(path)
    exchanges, connections = decode(reader, whole)
    roles = {(each.client, each.broker) for each in connections if each.protocol is Protocol.KAFKA}
    responses = sorted({each.response.first_packet for each in exchanges if each.response})
    for packet, count in product(sample(path.name, responses, CUTS), PACKETS):
        for each in decode(reader, cut(whole, packet, count))[1]:
            if each.protocol is Protocol.KAFKA:
                assert (each.client, each.broker) in roles, (packet, count, each)


def remote_calls() -> Talk:
    """Return calls of a protocol whose frames look like Fetch v2 requests."""
    talk = Talk(CLIENT, OTHER_PORT).open()
    for number in range(20):
        talk.ask(request(number, b"\0\4ping", api_key=1, version=2, client_id=b"inventory"))
        talk.tell(sized(struct.pack(">ii", 7, number) + b"pong"))
    return talk.close()


def zeros() -> Talk:
    """Return frames of nothing but zeros, each like a Produce v0 request without topics."""
    talk = Talk(CLIENT, OTHER_PORT).open()
    for _ in range(20):
        talk.ask(sized(bytes(20)))
    return talk.close()


def zookeeper(*, is_one_sided: bool = False) -> Talk:
    """Return what a ZooKeeper client reads: numbered requests, and replies with the same number."""
    talk = Talk(CLIENT, OTHER_PORT)
    if not is_one_sided:
        talk.open()
        talk.ask(sized(bytes(12) + struct.pack(">iq", 30_000, 0) + sized(bytes(16)) + b"\0"))
        talk.tell(sized(struct.pack(">iiq", 0, 30_000, 72_057_594_037_927_936) + sized(bytes(16))))
    for number in range(1, 20):
        if not is_one_sided:
            talk.ask(sized(struct.pack(">ii", number, 4) + sized(b"/brokers/ids/1") + b"\0"))
        stat = struct.pack(">qqqqiiiqiiq", 2, 2, 1, 1, 0, 0, 0, 0, 3, 0, 2)
        reply = struct.pack(">iqi", number, 4_294_967_300 + number, 0)
        talk.tell(sized(reply + sized(b'{"host":"broker-1","port":9092}') + stat))
    return talk


@pytest.mark.thorough
@for_each("first", [0, 3])
@for_each(
    "talk",
    [remote_calls(), zeros(), zookeeper(), zookeeper(is_one_sided=True)],
    ids=["remote calls", "zeros", "ZooKeeper", "ZooKeeper's replies"],
)
def test_other_protocols_with_lengths_and_numbers_are_not_kafka(talk: Talk, first: int) -> None:
    """From the handshake on or from the middle: looks prove nothing."""
    exchanges, (connection,) = decode(None, list(batches(talk.segments[first:])))

    assert connection.protocol is Protocol.UNKNOWN
    assert exchanges == []


def test_a_proxys_preamble_is_named_and_costs_no_exchange() -> None:
    """The requests behind it are read, and its bytes are not reported as missing."""
    talk = Talk(CLIENT, BROKER).open().ask(b"PROXY TCP4 10.1.2.3 10.9.8.7 51000 9092\r\n")
    for number in range(3):
        talk.ask(request(number)).tell(response(number))
    exchanges, (connection,) = decode(None, list(batches(talk.close().segments)))

    assert (connection.protocol, connection.preamble) == (
        Protocol.KAFKA,
        "PROXY v1 from 10.1.2.3:51000",
    )
    assert [each.correlation_id for each in exchanges] == [0, 1, 2]
    assert (connection.gaps, connection.request_bytes) == (0, 41 + 3 * len(request(1)))
