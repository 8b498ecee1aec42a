import gzip
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folders import ORACLE
from kdiag.errors import DecodeError
from kdiag.wire.header import RequestHeader, read_request_header, read_response_header
from tiers.cases import for_each

_VECTORS = sorted(ORACLE.glob("headers-*.jsonl.gz"))


def _lines(kind: str) -> list[dict[str, Any]]:
    lines = [
        json.loads(line)
        for path in _VECTORS
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    return [line for line in lines if line["kind"] == kind]


def test_request_headers_that_kafka_wrote_are_read_to_their_last_byte() -> None:
    """Every header of every API and version gives the fields that Kafka put in."""
    lines = _lines("request_header")

    for line in lines:
        data = bytes.fromhex(line["hex"])
        header = read_request_header(data)
        body = line["json"]
        client_id = body.get("clientId")
        assert header == RequestHeader(
            body["requestApiKey"],
            body["requestApiVersion"],
            body["correlationId"],
            client_id.encode("utf-16", "surrogatepass").decode("utf-16")
            if client_id
            else client_id,
            line["header_version"],
            len(data),
        )
    assert len(lines) > 700


def test_response_headers_that_kafka_wrote_are_read_to_their_last_byte() -> None:
    """The API and version of the request say which header a response has."""
    lines = _lines("response_header")

    for line in lines:
        data = bytes.fromhex(line["hex"])
        header = read_response_header(data, line["api_key"], line["version"])
        assert header == (line["json"]["correlationId"], line["header_version"], len(data))
    assert len(lines) > 300


def test_the_client_id_of_an_unknown_api_is_read_and_the_rest_is_left_alone() -> None:
    """The tag section is not looked at, for nobody knows whether there is one."""
    data = bytes.fromhex("7000 0003 00000009 0002") + b"me" + b"\xff\xff"

    assert read_request_header(data) == (0x7000, 3, 9, "me", 2, 12)


def test_a_client_id_that_is_not_utf8_is_shown_with_replacement() -> None:
    """A broken name does not hide the request."""
    header = read_request_header(bytes.fromhex("0003 0000 00000001 0003") + b"a\xffb")

    assert header.client_id == "a\N{REPLACEMENT CHARACTER}b"


@for_each("text", ["", "0003", "00030000000000", "0003000000000001", "00030009000000010000"])
def test_a_request_header_that_is_cut_short_raises_decode_error(text: str) -> None:
    """Nothing but our own error says so."""
    with pytest.raises(DecodeError, match="header"):
        read_request_header(bytes.fromhex(text))


@given(st.binary(max_size=40))
def test_any_bytes_give_headers_inside_them_or_decode_error(data: bytes) -> None:
    """Hostile bytes neither escape as another error nor point past their end."""
    for read in (read_request_header, lambda each: read_response_header(each, 3, 12)):
        with suppress(DecodeError):
            assert read(data).body_offset <= len(data)
