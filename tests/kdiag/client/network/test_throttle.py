import pytest

from kdiag.client.network.throttle import throttle_ns
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_configs import DescribeConfigsResponse
from kdiag.wire.api.init_producer_id import InitProducerIdResponse
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import Struct, info_of


@pytest.mark.parametrize(
    ("body", "first"),
    [
        (ProduceResponse(throttle_time_ms=7), 6),
        (DescribeConfigsResponse(throttle_time_ms=7), 2),
        (InitProducerIdResponse(throttle_time_ms=7), 1),
        (DescribeClusterResponse(throttle_time_ms=7), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_clients_wait_since_kip_219(body: Struct, first: int) -> None:
    """In older versions the broker has waited itself before it answered."""
    key = info_of(type(body)).api_key
    assert key is not None
    api = API_BY_KEY[key]

    assert throttle_ns(api, first, body) == 7_000_000
    if first:
        assert throttle_ns(api, first - 1, body) == 0


def test_nobody_waits_who_is_not_told_to() -> None:
    """Zero, or no such field, is no throttle; nor is a negative one, which makes no sense."""
    assert throttle_ns(API_BY_KEY[0], 9, ProduceResponse()) == 0
    assert throttle_ns(API_BY_KEY[0], 9, ProduceResponse(throttle_time_ms=-1)) == 0
    assert throttle_ns(API_BY_KEY[17], 1, SaslHandshakeResponse()) == 0
