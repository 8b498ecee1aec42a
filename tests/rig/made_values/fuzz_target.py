"""What a fuzzer calls: everything that kdiag does with bytes from outside, on bytes of any kind."""

import gzip
import json
import random
import struct
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Final

from folders import CAPTURES, ORACLE
from kdiag.errors import CaptureError, DecodeError
from kdiag.exchange.context.fetch_session import FetchSessions
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.documents.byte_view import view_side
from kdiag.exchange.documents.document import DocumentEncoder, Documents
from kdiag.exchange.line.line_writer import LineWriter
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.exchange.secrets.masking import mask_secrets
from kdiag.exchange.summary.counts import Summary
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.kafka.trial_decoding import is_whole_response
from kdiag.pcap.reader import CaptureReader
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.json_form import to_json
from kdiag.wire.codec.messages import decode_prefix, encode
from kdiag.wire.frame import Frame
from kdiag.wire.primitives import uvarint
from kdiag.wire.records.batches import read_batches

_FILE_HEADER_BYTES: Final = 24
_PACKET_HEADER: Final = struct.Struct("<IIII")
_FLEXIBLE_REQUEST: Final = 2


def read_capture(data: bytes) -> int:
    """Decode a capture down to the JSON of its records; return how many exchanges it holds."""
    names = TopicNames()
    documents = Documents(names, BodyForm(values=True))
    summary = Summary(names)
    encode_json = DocumentEncoder().encode
    count = 0
    for item in _items(data):
        if isinstance(item, Exchange):
            dissection = Dissection(item)
            names.learn(dissection)
            encode_json(documents.exchange(dissection))
            summary.add(dissection)
            count += 1
    return count


def _items(data: bytes) -> Iterator[Item]:
    try:
        reader = CaptureReader([BytesIO(data)])
        decoder = CaptureDecoder(reader.addresses)
        for batch in reader.read_segments():
            yield from decoder.feed(batch)
    except CaptureError:
        return
    yield from decoder.finish()


def read_message(data: bytes, api_key: int, version: int, *, is_request: bool) -> None:
    """Decode a message, and what can be decoded encode again."""
    api = API_BY_KEY[api_key]
    cls = api.request_class() if is_request else api.response_class()
    try:
        message, _ = decode_prefix(cls, version, data)
    except DecodeError:
        return
    to_json(message, version)
    encode(message, version)


def read_exchange(data: bytes, api_key: int, version: int, *, is_request: bool, kept: int) -> None:
    """Do with a message in a frame all that can be done with an exchange.

    Args:
        data: the message.
        api_key: the API that it claims.
        version: the version that it claims.
        is_request: whether it is the request; else there is no request.
        kept: how many bytes of the frame are there.
    """
    dissection = Dissection(_exchange(data, api_key, version, is_request=is_request, kept=kept))
    names = TopicNames()
    names.learn(dissection)
    FetchSessions().follow(dissection)
    DocumentEncoder().encode(Documents(names, BodyForm(values=True)).exchange(dissection))
    LineWriter(names).line_of(dissection)
    Summary(names).add(dissection)
    for side in dissection.sides:
        view_side(dissection, side, is_response=side is dissection.response)
    mask_secrets(dissection.exchange)
    if not is_request and dissection.exchange.response is not None:
        is_whole_response(dissection.exchange.response.data, (api_key, version))


def _exchange(data: bytes, api_key: int, version: int, *, is_request: bool, kept: int) -> Exchange:
    """Return an exchange of one side."""
    api = API_BY_KEY[api_key]
    head = bytes(4) + b"\0" * api.response_header_version(version)
    if is_request:
        header_version = api.request_header_version(version)
        head = struct.pack(">hhi", api_key, version, 0) + (b"\0\1c", b"")[not header_version]
        head += b"\0" * (header_version == _FLEXIBLE_REQUEST)
    whole = head + data
    frame = Frame(whole[:kept], len(whole), 0, 0, gap_bytes=max(0, len(whole) - kept))
    return Exchange(
        number=1,
        connection=Connection(
            number=1, connection_id="", client="10.0.0.1:1", broker="", first_ns=0, last_ns=0
        ),
        api_key=api_key,
        version=version,
        correlation_id=0,
        client_id=None,
        request=frame if is_request else None,
        response=None if is_request else frame,
        pairing=Status.UNANSWERED if is_request else Status.UNMATCHED,
    )


def read_records(data: bytes) -> None:
    """Read record batches down to the records."""
    try:
        for batch in read_batches(data).batches:
            assert batch.crc_ok in (True, False)
            batch.records()
    except DecodeError:
        return


@cache
def captures(reference: str | None) -> tuple[bytes, ...]:
    """Return the captures that are damaged: those that ship, and the reference ones."""
    files = sorted(CAPTURES.glob("*.pcap"))
    if reference is not None:
        files += sorted(Path(reference, "captures").glob("*.pcap*"))
    return tuple(path.read_bytes() for path in files)


@cache
def vectors() -> tuple[tuple[int, int, bool, bytes], ...]:
    """Return Kafka's own messages: API key, version, whether a request, bytes."""
    found = []
    for path in sorted(ORACLE.glob("vectors-*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in map(json.loads, file):
                data = bytes.fromhex(line["hex"])
                found.append((line["api_key"], line["version"], line["kind"] == "request", data))
    return tuple(found)


@cache
def record_vectors() -> tuple[bytes, ...]:
    """Return Kafka's own record batches."""
    with gzip.open(ORACLE / "records.jsonl.gz", "rt", encoding="utf-8") as file:
        return tuple(bytes.fromhex(line["hex"]) for line in map(json.loads, file))


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with some changed, and perhaps without their end."""
    changed = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 2, 8, 64))):
        if changed:
            place = chance.randrange(len(changed))
            changed[place] = chance.choice((0, 0xFF, 0x7F, 0x80, chance.randrange(256)))
    if not chance.randrange(4):
        del changed[chance.randrange(len(changed) + 1) :]
    return bytes(changed)


def distorted(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with some replaced by varints, tags, or more or fewer bytes."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        place = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0:
                changed[place : place + 1] = uvarint(chance.randrange(1 << 32))
            case 1:
                tag = uvarint(chance.randrange(1 << 31, 1 << 32))
                changed[place : place + 1] = b"\1" + tag + b"\0"
            case 2:
                del changed[place : place + chance.randrange(1, 5)]
            case _:
                changed[place:place] = chance.randbytes(chance.randrange(1, 6))
    return bytes(changed)


def damaged_capture(data: bytes, chance: random.Random) -> bytes:
    """Return a capture with packets lost, doubled and swapped, then with bytes changed."""
    if data[:4] != b"\xd4\xc3\xb2\xa1" or not chance.randrange(3):
        return damaged(data, chance)
    packets = list(_packets(data))
    for _ in range(chance.choice((1, 1, 3, 20))):
        one, other = chance.randrange(len(packets)), chance.randrange(len(packets))
        match chance.randrange(3):
            case 0:
                packets[one], packets[other] = packets[other], packets[one]
            case 1:
                packets.insert(one, packets[other])
            case _ if len(packets) > 1:
                del packets[one]
    whole = data[:_FILE_HEADER_BYTES] + b"".join(packets)
    return whole if chance.randrange(2) else damaged(whole, chance)


def _packets(data: bytes) -> Iterator[bytes]:
    position = _FILE_HEADER_BYTES
    while position < len(data):
        captured = _PACKET_HEADER.unpack_from(data, position)[2]
        end = position + _PACKET_HEADER.size + captured
        yield data[position:end]
        position = end
