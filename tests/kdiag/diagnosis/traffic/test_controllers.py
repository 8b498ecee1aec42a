"""Clients with a controller's port are found; who asks a controller on purpose is not."""

from collections.abc import Sequence

import pytest

from folders import DATA
from kdiag.diagnosis.traffic.controllers import Controllers
from kdiag.diagnosis.traffic.traffic import Traffic
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import decode_capture
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from recordings.exchange_maker import START_NS, make_connection, make_exchange

MS = 1_000_000
CONTROLLER = (api_keys.FETCH, api_keys.API_VERSIONS, api_keys.VOTE, api_keys.DESCRIBE_CLUSTER)
BROKER = (api_keys.PRODUCE, *CONTROLLER, api_keys.METADATA)


def asked(at_ms: int, connection: int = 1, kept_ms: int = 1) -> Exchange:
    """Return an ApiVersions exchange on a connection that was kept so long."""
    start_ns = START_NS + at_ms * MS
    kept = make_connection(
        connection, first_ns=start_ns, last_ns=start_ns, closed_ns=start_ns + kept_ms * MS
    )
    made = make_exchange(ApiVersionsRequest(), ApiVersionsResponse(), version=3, connection=kept)
    assert made.request is not None
    made.request.first_byte_ns = start_ns
    return made


def lost(exchanges: Sequence[Exchange], offered: Sequence[int] = CONTROLLER) -> list[str]:
    """Return what is said where ApiVersions offers some APIs."""
    controllers = Controllers()
    response = ApiVersionsResponse(api_keys=[ApiVersion(each) for each in offered])
    controllers.learn_listener("10.0.0.2:9092", response)
    for each in exchanges:
        controllers.add(each)
    return [each.title for each in controllers.findings()]


RETRIES = [asked(each * 300, each) for each in range(5)]


def test_a_client_that_tries_again_or_waits_is_found() -> None:
    """Libraries do either, and get no further."""
    (title,) = lost(RETRIES)
    assert title == (
        "10.0.0.2:9092 is a controller's listener: app got no further than ApiVersions there "
        "(5 requests from 03:04:05.000 UTC on)"
    )
    assert len(lost([asked(0, kept_ms=9_000)])) == 1


@pytest.mark.parametrize(
    ("exchanges", "offered"),
    [
        (
            [
                *RETRIES,
                make_exchange(DescribeClusterRequest(), DescribeClusterResponse(), version=1),
            ],
            CONTROLLER,
        ),
        (RETRIES, BROKER),
        ([asked(each * 10_000, each) for each in range(9)], CONTROLLER),
        ([asked(each * 10_000, 1, 90_000) for each in range(9)], CONTROLLER),
    ],
    ids=[
        "an administrator of controllers",
        "a broker",
        "a health check on new connections",
        "a health check on one connection",
    ],
)
def test_who_asks_a_controller_on_purpose_is_not_found(
    exchanges: list[Exchange], offered: Sequence[int]
) -> None:
    """The same requests, with another cause."""
    assert lost(exchanges, offered) == []


def test_real_clients_with_a_controllers_port_are_found() -> None:
    """Three libraries; neither the administrator nor the broker of the node."""
    traffic = Traffic(TopicNames())
    for item in decode_capture([DATA / "traffic" / "controller_port.pcap.gz"]):
        if isinstance(item, Exchange):
            traffic.add(Dissection(item))
    (finding,) = traffic.findings()
    assert finding.id == "KD1406"
    assert finding.evidence["clients"] == ["kp-web", "rdk-web", "java-web"]
