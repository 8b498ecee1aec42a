from typing import Any

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.traffic.asking import Asking
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status, UnansweredReason
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from recordings.exchange_maker import BROKER, START_NS, make_connection, make_exchange


def metadata(at_ms: int) -> Exchange:
    """Return a Metadata exchange."""
    exchange = make_exchange(MetadataRequest(), MetadataResponse(), version=9, number=at_ms + 1)
    assert exchange.request is not None
    exchange.request.first_byte_ns = START_NS // NS_PER_S * NS_PER_S + at_ms * 1_000_000
    return exchange


def test_a_storm_of_metadata_requests_lasts() -> None:
    """Twenty a second, for five seconds; a burst at the start is none, nor a few all day."""
    for every_ms, count, ids in ((50, 100, ["KD4301"]), (10, 60, []), (1_000, 100, [])):
        asking = Asking()
        for number in range(count):
            asking.add_metadata(metadata(number * every_ms))
        findings = list(asking.findings())
        assert [each.id for each in findings] == ids
        if ids:
            assert (findings[0].evidence["requests"], findings[0].evidence["busiest"]) == (100, 20)


def test_a_client_that_is_throttled_is_found() -> None:
    """With how long it was told to wait, and the worst of these."""
    asking = Asking()
    for number, throttle_ms in enumerate((0, 300, 700, 0), 1):
        response = HeartbeatResponse(throttle_time_ms=throttle_ms)
        exchange = make_exchange(HeartbeatRequest(), response, version=4, number=number)
        asking.add_quota(Dissection(exchange))
    (finding,) = asking.findings()

    assert finding.id == "KD4302"
    assert finding.evidence["count"] == 2
    assert (finding.evidence["total_ms"], finding.evidence["exchange"]) == (1_000, 3)
    assert {str(each) for each in asking.throttled} == {"app (10.0.0.1)"}


def unanswered(reason: UnansweredReason, waited_ns: int) -> Dissection:
    """Return a request that its client gave up on."""
    connection = make_connection(closed_by="client", closed_ns=START_NS + waited_ns)
    return Dissection(
        make_exchange(
            HeartbeatRequest(),
            version=4,
            connection=connection,
            pairing=Status.UNANSWERED,
            unanswered_reason=reason,
        )
    )


def test_a_request_that_was_given_up_after_long_is_found() -> None:
    """Not one of a client that ends, nor one that the capture does not see answered."""
    for reason, waited_ns, ids in (
        (UnansweredReason.CLIENT_CLOSED, 30 * NS_PER_S, ["KD4303"]),
        (UnansweredReason.CLIENT_CLOSED, NS_PER_S, []),
        (UnansweredReason.IN_FLIGHT, 30 * NS_PER_S, []),
    ):
        asking = Asking()
        asking.add_unanswered(unanswered(reason, waited_ns))
        findings = list(asking.findings())
        assert [each.id for each in findings] == ids
        assert all(each.evidence["waited_ms"] == 30_000 for each in findings)


def produce(version: int, **facts: Any) -> Exchange:
    """Return a Produce request of which the body does not matter."""
    return make_exchange(bytes(10), version=version, api_key=api_keys.PRODUCE, **facts)


def test_versions_that_kafka_4_removed_are_found() -> None:
    """Unless the broker knows no newer one, or they were guessed."""
    for offered, exchange, ids in (
        (None, produce(2), ["KD5101"]),
        (11, produce(2), ["KD5101"]),
        (2, produce(2), []),
        (None, produce(3), []),
        (None, produce(2, guessed=True), []),
    ):
        asking = Asking()
        if offered is not None:
            ranges = [ApiVersion(api_key=api_keys.PRODUCE, min_version=0, max_version=offered)]
            asking.add_versions(BROKER, ApiVersionsResponse(api_keys=ranges))
        again_on = asking.add_version(exchange)
        assert (again_on is not None) == (exchange.version == 2 and not exchange.guessed)
        findings = list(asking.version_findings())
        assert [each.id for each in findings] == ids
        if ids:
            assert findings[0].evidence["old_requests"] == "Produce v2 (needs v3)"


def test_old_requests_of_a_client_are_counted_together() -> None:
    """Each version once, with all requests."""
    asking = Asking()
    again_on = asking.add_version(produce(2))
    again = again_on and again_on(produce(2))
    assert again is not None
    again([produce(2)])
    asking.add_version(produce(1))
    (finding,) = asking.version_findings()

    assert finding.evidence["old_requests"] == "Produce v1 (needs v3), Produce v2 (needs v3)"
    assert finding.evidence["requests"] == 3
