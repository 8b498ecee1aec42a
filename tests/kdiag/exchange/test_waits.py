from kdiag.exchange.dissection import Dissection
from kdiag.exchange.waits import allowed_wait_ns, net_latency_ns
from kdiag.wire.api.fetch import FetchRequest, FetchResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.join_group import JoinGroupRequest
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.api.share_fetch import ShareFetchRequest
from kdiag.wire.schema import Struct
from recordings.exchange_maker import cut_frame, make_exchange, request_bytes
from tiers.cases import for_each


@for_each(
    ("request_", "version", "wait_ms"),
    [
        (FetchRequest(max_wait_ms=500), 13, 500),
        (ShareFetchRequest(max_wait_ms=300), 1, 300),
        (JoinGroupRequest(session_timeout_ms=45_000, rebalance_timeout_ms=300_000), 5, 300_000),
        (JoinGroupRequest(session_timeout_ms=45_000), 0, 45_000),
        (FetchRequest(max_wait_ms=-1), 13, 0),
        (ProduceRequest(timeout_ms=30_000), 9, 0),
        (HeartbeatRequest(), 3, 0),
    ],
)
def test_a_wait_is_what_the_broker_may_hold_back_on_purpose(
    request_: Struct, version: int, wait_ms: int
) -> None:
    """A limit to work that begins at once is not a wait."""
    exchange = make_exchange(request_, version=version)
    assert allowed_wait_ns(Dissection(exchange)) == wait_ms * 1_000_000


def test_a_wait_that_was_not_read_is_not_known() -> None:
    """A request that is cut before the field, and a response without its request."""
    whole = request_bytes(FetchRequest(max_wait_ms=500), 12)
    cut = make_exchange(whole, version=12, api_key=1)
    cut.request = cut_frame(whole, 16)
    assert allowed_wait_ns(Dissection(cut)) == 0
    assert allowed_wait_ns(Dissection(make_exchange(None, b"\0\0\0\7", version=None))) == 0


def test_latency_without_the_wait_is_never_less_than_the_transfer() -> None:
    """Nor is there one without a response."""
    fetch = make_exchange(FetchRequest(max_wait_ms=500), FetchResponse(), version=12)
    assert fetch.response is not None
    fetch.response.last_byte_ns += 7
    assert net_latency_ns(Dissection(fetch)) == 7
    fetch.response = None
    assert net_latency_ns(Dissection(fetch)) is None
