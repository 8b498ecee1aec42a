import logging
import struct

import pytest

from kdiag.lab.api.registry import HANDLERS
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersionsResponse
from kdiag.wire.api.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from kdiag.wire.api.fetch import FetchRequest, FetchResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.catalog import API_BY_KEY, APIS
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.error_code import error_name
from kdiag.wire.header import request_header_bytes
from lab_ends.lab_client import LabClient

UNSUPPORTED = "UNSUPPORTED_VERSION"


def log_line(lab: LabCluster, caplog: pytest.LogCaptureFixture) -> str:
    """Return the only line of the log."""
    with LabClient(lab.nodes[0].port) as other:
        other.ask(MetadataRequest(topics=[]), MetadataResponse, 12)  # it still answers
    (record,) = caplog.records
    return record.getMessage()


def test_an_api_without_a_handler_is_told_so(
    lab: LabCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the response has a place for it; one line is in the log."""
    with caplog.at_level(logging.INFO), LabClient(lab.nodes[0].port) as client:
        response = client.ask(DescribeQuorumRequest(), DescribeQuorumResponse, 1)
        assert error_name(response.error_code) == UNSUPPORTED
        assert "version 1 of DescribeQuorum" in log_line(lab, caplog)


def test_a_version_that_is_not_spoken_is_told_so(lab: LabCluster) -> None:
    """Or ends the connection, where the response has no place for it."""
    with LabClient(lab.nodes[0].port) as client:
        client.send(FetchRequest(replica_id=-1), 3)
        assert client.receive_frame() == b""
    key = API_BY_KEY[api_keys.FETCH]
    del lab.nodes[0].dispatch.node.versions[key.key]  # type: ignore[attr-defined]
    with LabClient(lab.nodes[0].port) as client:
        assert error_name(client.ask(FetchRequest(), FetchResponse, 12).error_code) == UNSUPPORTED


@pytest.mark.parametrize("version", [6, 99, -1])
def test_api_versions_of_an_unknown_version_is_answered_in_version_0(
    lab: LabCluster, version: int
) -> None:
    """With what there is, so that the client can ask again (KIP-511)."""
    head = struct.pack(">hhihB", api_keys.API_VERSIONS, version, 7, -1, 0)
    with LabClient(lab.nodes[0].port) as client:
        client.send_frame(head + b"whatever")
        frame = client.receive_frame()
    response = decode(ApiVersionsResponse, 0, frame, 4)
    assert error_name(response.error_code) == UNSUPPORTED
    assert api_keys.FETCH in {each.api_key for each in response.api_keys}


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (b"", "a request header takes 8 bytes"),
        (b"\x7f\xff\0\0\0\0\0\1\xff\xff", "API key 32767"),
        (struct.pack(">hhihB", 3, 12, 1, -1, 0) + b"\xff\xff\xff\xff\x0f", "Metadata 12"),
    ],
)
def test_garbage_ends_its_connection_with_one_line_in_the_log(
    lab: LabCluster, frame: bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Others are answered as before."""
    with caplog.at_level(logging.INFO), LabClient(lab.nodes[0].port) as client:
        client.send_frame(frame)
        assert client.receive_frame() == b""
        assert why in log_line(lab, caplog)


def test_what_is_no_frame_is_said_with_what_it_looks_like(
    lab: LabCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """A browser, for example."""
    with caplog.at_level(logging.INFO), LabClient(lab.nodes[0].port) as client:
        client.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert client.receive_frame() == b""
        assert "a web client asked" in log_line(lab, caplog)


@pytest.mark.thorough
def test_no_request_hangs(lab: LabCluster) -> None:
    """Every API in its newest version is answered, or its connection ends."""
    answered = 0
    for api in APIS:
        version = api.versions.high
        frame = request_header_bytes(api, version, 1, "client")
        frame += encode(api.request_class()(), version)
        with LabClient(lab.nodes[0].port) as client:
            client.send_frame(frame)
            if api.key != api_keys.PRODUCE:  # its default is acks=0, which gets no response
                answered += bool(client.receive_frame())
    assert answered > len(HANDLERS)


def test_bytes_behind_a_request_are_passed_over(lab: LabCluster) -> None:
    """As Kafka does: librdkafka sends some."""
    frame = request_header_bytes(API_BY_KEY[api_keys.METADATA], 12, 1, None)
    frame += encode(MetadataRequest(topics=[]), 12)
    with LabClient(lab.nodes[0].port) as client:
        client.send_frame(frame + b"\0\0\0")
        assert client.receive_frame()[:4] == b"\0\0\0\1"


def test_requests_are_counted(lab: LabCluster) -> None:
    """Its repr tells."""
    with LabClient(lab.nodes[0].port) as client:
        client.ask(MetadataRequest(topics=[]), MetadataResponse, 12)
    assert repr(lab.nodes[0].dispatch) == "<RequestDispatch of broker 1: 1 requests>"
