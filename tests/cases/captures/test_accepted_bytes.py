"""What Kafka's own parsers accept is read as Kafka: its vectors, changed as it allows.

A broker ignores bytes behind the last field of a request, takes any bytes for a client id and any
number for a correlation id; other brokers have APIs of their own, and clients become newer. One
exchange on a port where nothing else is seen is enough, with or without the beginning of its
connection. ControlledShutdown v0 has no client id: alone it is too little.
"""

import gzip
import json
import struct
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest

from folders import ORACLE
from kdiag.exchange.model import Connection, Exchange, Protocol
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.kafka.request_head import read_acks
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY
from real_kafka.releases import NEWEST, VERSIONS
from recordings.segment_tape import CLIENT, Numbered, Talk, batch_of
from tiers.cases import for_each

BROKER = (0x0A000002 << 16) | 22001
LOGIN = (api_keys.SASL_HANDSHAKE, api_keys.SASL_AUTHENTICATE)


class Pair(NamedTuple):
    """The bodies of a request and of its response, and what stands before them."""

    key: int
    version: int
    request: bytes
    response: bytes

    def frames(
        self, client_id: bytes | None = b"billing-1", correlation_id: int = 7
    ) -> tuple[bytes, bytes]:
        """Return both frames, without their lengths."""
        api = API_BY_KEY[self.key]
        head = struct.pack(">hhi", self.key, self.version, correlation_id)
        head += struct.pack(">h", -1) if client_id is None else b""
        head += b"" if client_id is None else struct.pack(">h", len(client_id)) + client_id
        head += bytes(api.request_header_version(self.version) - 1)
        answer = struct.pack(">i", correlation_id)
        answer += bytes(api.response_header_version(self.version))
        return head + self.request, answer + self.response


@cache
def pairs(*releases: str) -> list[Pair]:
    """Return a request and a response of each API and version that has a client id."""
    bodies: dict[tuple[int, int], dict[str, bytes]] = defaultdict(dict)
    for version in releases:
        with gzip.open(ORACLE / f"vectors-{version}.jsonl.gz", "rt", encoding="ascii") as lines:
            for line in map(json.loads, lines):
                kind = (line["api_key"], line["version"])
                if line["case"] == "full" or line["kind"] not in bodies[kind]:
                    bodies[kind][line["kind"]] = bytes.fromhex(line["hex"])
    return [
        Pair(*kind, each["request"], each["response"])
        for kind, each in sorted(bodies.items())
        if kind[0] not in LOGIN and kind != (api_keys.CONTROLLED_SHUTDOWN, 0)
    ]


def with_more(pair: Pair) -> tuple[bytes, bytes]:
    """Return the frames with bytes behind the last field of the request."""
    request, response = pair.frames()
    return request + b"xyz", response


def of_private_api(pair: Pair) -> tuple[bytes, bytes]:
    """Return the frames with an API key that other brokers have."""
    request, response = pair.frames()
    return struct.pack(">h", 10_000 + pair.key) + request[2:], response


def of_newer_version(pair: Pair) -> tuple[bytes, bytes]:
    """Return the frames with a version that is far from all that are known."""
    request, response = pair.frames()
    return request[:2] + struct.pack(">h", 120) + request[4:], response


CHANGES: dict[str, Callable[[Pair], tuple[bytes, bytes]]] = {
    "none": Pair.frames,
    "trailing bytes": with_more,
    "private API": of_private_api,
    "newer version": of_newer_version,
    "odd client id": lambda pair: pair.frames(b"bil\tling\n\xfc"),
    "correlation id 0": lambda pair: pair.frames(correlation_id=0),
    "negative id": lambda pair: pair.frames(correlation_id=-5),
    "no client id": lambda pair: pair.frames(None),
}


def read(pair: Pair, change: str, *, has_syn: bool) -> tuple[Connection, list[Exchange]]:
    """Return the connection and the exchanges of one request with its response."""
    request, response = CHANGES[change](pair)
    talk = Talk(CLIENT, BROKER)
    if has_syn:
        talk.open()
    talk.ask(len(request).to_bytes(4) + request).tell(len(response).to_bytes(4) + response)
    decoder = CaptureDecoder(Numbered())
    items = [*decoder.feed(batch_of(talk.segments)), *decoder.finish()]
    (connection,) = (each for each in items if isinstance(each, Connection))
    return connection, [each for each in items if isinstance(each, Exchange)]


def check(some: list[Pair], change: str, *, has_syn: bool) -> None:
    """Check that pairs are read as one exchange each, with nothing missing."""
    for pair in some:
        request, _ = CHANGES[change](pair)
        acks = read_acks(request, pair.version) if pair.key == api_keys.PRODUCE else 1
        if acks == 0 or (change == "no client id" and acks not in {1, -1}):
            continue
        connection, exchanges = read(pair, change, has_syn=has_syn)
        about = pair.key, pair.version
        assert connection.protocol is Protocol.KAFKA, about
        assert (connection.gaps, connection.not_understood) == (0, 0), about
        (exchange,) = exchanges
        assert exchange.request is not None, about
        assert exchange.response is not None, about


@pytest.mark.thorough
@for_each("has_syn", [True, False])
@for_each("change", list(CHANGES))
def test_some_vectors_are_read_however_they_are_changed(change: str, *, has_syn: bool) -> None:
    """Those that the newest release has and others have not."""
    check(pairs(NEWEST), change, has_syn=has_syn)


@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize("has_syn", [True, False], ids=["whole", "midway"])
@pytest.mark.parametrize("change", list(CHANGES))
def test_every_vector_is_read_however_it_is_changed(change: str, *, has_syn: bool) -> None:
    """Each API and version."""
    check(pairs(*VERSIONS), change, has_syn=has_syn)
