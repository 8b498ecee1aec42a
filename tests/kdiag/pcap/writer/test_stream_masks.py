from typing import Any

import pytest
from msgspec.structs import replace

from kdiag.exchange.model import Exchange, Status
from kdiag.pcap.tcp.extent import Extent
from kdiag.pcap.tls.problem import BROKER_SPEAKS_TLS
from kdiag.pcap.writer import stream_masks
from kdiag.pcap.writer.stream_masks import Mask, StreamMasks
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.user_scram_credential_record import UserScramCredentialRecord
from recordings.exchange_maker import make_batch, make_exchange

END = 2**32
TOKEN = b"\0alice\0secret"


def placed(exchange: Exchange, request: int = 0, response: int = 0) -> Exchange:
    """Return an exchange whose frames start at places of their streams."""
    frames: dict[str, Any] = {}
    for name, place in (("request", request), ("response", response)):
        frame = getattr(exchange, name)
        frames[name] = frame and replace(frame, stream_offset=place)
    return replace(exchange, **frames)


def login(**changes: Any) -> Exchange:
    """Return an exchange with a token."""
    request = SaslAuthenticateRequest(auth_bytes=TOKEN)
    return make_exchange(request, SaslAuthenticateResponse(), version=1, **changes)


def harmless(**changes: Any) -> Exchange:
    """Return an exchange without secrets."""
    return make_exchange(MetadataRequest(), MetadataResponse(), version=1, **changes)


def masks(*exchanges: Exchange, side: int = 0, **changes: Any) -> list[Mask]:
    """Return the masks of a direction; side 0 is the client."""
    noted = StreamMasks()
    for each in exchanges:
        noted.note(each)
    extent = Extent(exchanges[0].connection, (1, 2), 1, 0, (0, 0))
    return noted.of(extent._replace(**changes), side)


def size_of(exchange: Exchange) -> int:
    """Return the bytes of a request with its length."""
    assert exchange.request is not None
    return exchange.request.size + 4


def test_a_token_is_masked_where_it_lies_and_what_was_never_read() -> None:
    """The rest of its frame stays."""
    exchange = placed(login())
    stop = size_of(exchange)

    assert masks(exchange) == [
        Mask(stop - len(TOKEN), stop, None, is_secret=True),
        Mask(stop, END, None, is_secret=False),
    ]


def test_what_no_frame_covers_is_masked() -> None:
    """In front, between and behind; a preamble stays but for its password."""
    exchange = harmless()
    size = size_of(exchange)
    exchanges = placed(exchange, 10), placed(exchange, 10 + size), placed(exchange, 500)

    assert [each[:2] for each in masks(*exchanges)] == [
        (0, 10),
        (10 + 2 * size, 500),
        (500 + size, END),
    ]
    changes: dict[str, Any] = {"preamble_bytes": (10, 0), "preamble_secrets": ((3, 5),)}
    found = masks(*exchanges, **changes)
    assert [(each.start, each.stop, each.is_secret) for each in found[:2]] == [
        (3, 5, True),
        (10 + 2 * size, 500, False),
    ]


def test_many_frames_are_kept_as_few_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever order they come."""
    monkeypatch.setattr(stream_masks, "_FEW", 3)
    exchange = harmless()
    size = size_of(exchange)
    found = masks(*(placed(exchange, place * size) for place in (4, 2, 0, 1, 3, 5, 6)))

    assert found == [Mask(7 * size, END, None, is_secret=False)]


def test_places_beyond_4_gib_are_masked_at_their_number() -> None:
    """A mask or a frame over the end goes on at the start."""
    exchange = placed(login(), END - 20)
    stop = size_of(exchange) - 20

    assert [each[:2] for each in masks(exchange)] == [
        (stop - len(TOKEN), stop),
        (stop, END - 20),
    ]
    early = placed(login(), END - size_of(exchange) + 5)
    assert [each[:2] for each in masks(early)] == [
        (0, 5),
        (5, END - size_of(exchange) + 5),
        (END - len(TOKEN) + 5, END),
    ]


def test_what_is_encrypted_is_not_masked() -> None:
    """Neither a connection with TLS nor a broker that answers with it."""
    exchange = placed(harmless())
    exchange.connection.tls_problem = BROKER_SPEAKS_TLS

    assert masks(exchange, is_encrypted=True) == []
    assert masks(exchange, side=1) == []
    assert masks(exchange) != []


def test_frames_whose_place_is_not_known_are_not_looked_at() -> None:
    """Then nothing is covered: all is masked."""
    assert masks(login()) == [Mask(0, END, None, is_secret=False)]


def test_the_rest_of_a_token_that_is_cut_is_masked() -> None:
    """Its bytes may be in the capture behind the hole."""
    exchange = placed(login())
    assert exchange.request is not None
    frame = exchange.request
    cut = replace(exchange, request=replace(frame, data=frame.data[:-5], gap_bytes=2))

    (token, rest, _) = masks(cut)
    assert (token.is_secret, rest.is_secret) == (True, False)
    assert token.stop == rest.start == rest.stop - 5


def test_a_kerberos_token_can_be_told_as_one_afterwards() -> None:
    """Its tag, length and mechanism stay, for without them nobody sees that it is Kafka."""
    head = b"\x60\x20\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"
    token = head + b"t" * 30
    exchange = placed(make_exchange(token, None, version=None, pairing=Status.OPAQUE))

    assert masks(exchange)[0] == Mask(17 + 4, len(token) + 4, None, is_secret=True)


def test_of_records_only_the_secret_bytes_and_checksums_change() -> None:
    """As the live commands write them."""
    record = UserScramCredentialRecord(name="a", salt=b"s" * 20, stored_key=b"k" * 20)
    value = b"\x01\x0b\x00" + encode(record, 0)
    partition = PartitionData(records=make_batch(value))
    topic = FetchableTopicResponse(topic="__cluster_metadata", partitions=[partition])
    exchange = make_exchange(FetchRequest(), FetchResponse(responses=[topic]), version=11)

    found = [each for each in masks(placed(exchange), side=1) if each.bytes is not None]
    assert sum(each.stop - each.start for each in found) < 80
    assert any(b"x" * 20 in (each.bytes or b"") for each in found)
