"""Writes with acks=all that wait for followers are found; what waits for something else is not."""

from collections.abc import Sequence

import pytest

from folders import DATA
from kdiag.diagnosis.traffic.replicating import Replicating
from kdiag.diagnosis.traffic.traffic import Traffic
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status, UnansweredReason
from kdiag.findings.finding import Finding
from kdiag.pcap.decoder import decode_capture
from kdiag.wire.api.fetch import FetchRequest, FetchResponse
from kdiag.wire.api.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from recordings.exchange_maker import START_NS, make_connection, make_exchange
from tiers.cases import for_each

MS = 1_000_000
BROKER, END_MS = "10.0.0.2:9092", 20_000
NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT = 19, 7


def at(made: Exchange, at_ms: int, after_ms: int | None) -> Exchange:
    """Return an exchange of that time that was answered so much later; None for no answer."""
    for frame, late_ms in ((made.request, 0), (made.response, after_ms or 0)):
        if frame is not None:
            frame.first_byte_ns = frame.last_byte_ns = START_NS + (at_ms + late_ms) * MS
    if after_ms is None:
        made.pairing = Status.UNANSWERED
        made.unanswered_reason = UnansweredReason.IN_FLIGHT
    return made


def wrote(
    at_ms: int,
    after_ms: int | None = 2,
    *,
    acks: int = -1,
    error: int = 0,
    client: str = "ledger",
) -> Exchange:
    """Return a Produce exchange of one partition."""
    data = [TopicProduceData("strict", partition_data=[PartitionProduceData(0, b"")])]
    request = ProduceRequest(acks=acks, topic_data=data)
    part = PartitionProduceResponse(index=0, error_code=error)
    response = ProduceResponse([TopicProduceResponse("strict", partition_responses=[part])])
    connection = make_connection(
        broker=BROKER, client="10.0.0.1:40000", last_ns=START_NS + END_MS * MS
    )
    made = make_exchange(
        request,
        None if after_ms is None else response,
        version=9,
        client_id=client,
        connection=connection,
    )
    return at(made, at_ms, after_ms)


def fetched(at_ms: int, host: str = "10.0.0.1", client: str = "reader") -> Exchange:
    """Return a fetch that was answered at once."""
    connection = make_connection(2, broker=BROKER, client=f"{host}:40001")
    made = make_exchange(
        FetchRequest(), FetchResponse(), version=12, client_id=client, connection=connection
    )
    return at(made, at_ms, 1)


def found(exchanges: Sequence[Exchange], replicas: Sequence[int] = ()) -> list[Finding]:
    """Return what is found, with as many replicas as Metadata had."""
    replicating = Replicating(TopicNames())
    if replicas:
        partition = MetadataResponsePartition(replica_nodes=list(replicas))
        topic = MetadataResponseTopic(name="strict", partitions=[partition])
        replicating.learn_replicas(MetadataResponse(topics=[topic]))
    for each in exchanges:
        replicating.add(Dissection(each))
    return list(replicating.findings(frozenset()))


BEFORE = [wrote(0), wrote(500)]
WAITING = [wrote(1_000, None), wrote(1_500, None)]
READ = [fetched(each * 500) for each in range(40)]


def test_writes_that_wait_while_others_are_answered_are_found() -> None:
    """From the first of them on, with the partition; also without a success before."""
    (finding,) = found([*BEFORE, *WAITING, *READ])
    assert finding.id == "KD4404"
    assert finding.title == (
        "ledger cannot write to strict[0] with acks=all: 2 Produce requests to broker "
        "10.0.0.2:9092 waited from 03:04:06.000 UTC on, not over at the end of the capture, while "
        "it answered other requests"
    )
    assert [each.id for each in found([*WAITING, *READ])] == ["KD4404"]


def test_a_wait_that_ends_is_a_warning() -> None:
    """The leader drops the follower, or that one comes back."""
    (finding,) = found([*BEFORE, wrote(1_000, 9_000), *READ, wrote(10_500)])
    assert finding.id == "KD4405"
    assert (finding.evidence["first"], finding.evidence["last"]) == ("03:04:06.000", "03:04:15.000")


def test_followers_that_do_not_fetch_are_named() -> None:
    """Where the capture has their requests."""
    follower, other = "broker-2-fetcher-0", "broker-3-fetcher-0"
    gone = [fetched(each * 250, "10.0.0.3", follower) for each in range(4)]
    here = [fetched(each * 250, "10.0.0.4", other) for each in range(80)]
    (finding,) = found([*BEFORE, *WAITING, *READ, *gone, *here])
    assert finding.title.endswith("other requests (broker 2 fetched nothing meanwhile)")


@pytest.mark.parametrize(
    ("exchanges", "replicas"),
    [
        ([*BEFORE, *WAITING, *READ[:3]], ()),
        ([*BEFORE, *WAITING, *READ, wrote(1_200, None, acks=1, client="clicks")], ()),
        ([*BEFORE, *WAITING, *READ], (1,)),
        ([*BEFORE, *WAITING, *READ, *[wrote(each * 1_000, client="b") for each in range(20)]], ()),
        ([*BEFORE, *WAITING, *[fetched(each * 500, "10.0.0.9") for each in range(40)]], ()),
        ([*BEFORE, wrote(18_500, None), *READ], ()),
        ([*BEFORE, wrote(1_000, 1_800), *READ, wrote(3_500), wrote(6_000)], ()),
    ],
    ids=[
        "the broker answers nothing",
        "acks=1 waits as well: a disk",
        "one replica",
        "another client writes there",
        "the host that waits gets no answer at all",
        "the capture ends soon",
        "a short wait",
    ],
)
def test_what_waits_for_something_else_is_not_found(
    exchanges: list[Exchange], replicas: Sequence[int]
) -> None:
    """The same writes, with another cause."""
    assert found(exchanges, replicas) == []


@for_each("reason", [UnansweredReason.ANSWER_NOT_CAPTURED, UnansweredReason.ANSWER_NOT_UNDERSTOOD])
def test_answers_that_the_capture_lacks_prove_nothing(reason: UnansweredReason) -> None:
    """They may have come, or are among the bytes of which nothing could be made."""
    lost = [wrote(1_000, None), wrote(1_500, None)]
    for each in lost:
        each.unanswered_reason = reason
    assert found([*BEFORE, *lost, *READ]) == []


def test_writes_that_are_refused_after_waiting_are_one_finding() -> None:
    """As the leader drops a follower, and too few are left; what timed out has the same cause."""
    traffic = Traffic(TopicNames())
    refused = [wrote(each * 500, 1, error=NOT_ENOUGH_REPLICAS) for each in range(24, 38)]
    timed_out = [wrote(1_000 + each, 8_000, error=REQUEST_TIMED_OUT) for each in range(3)]
    for each in (*BEFORE, *timed_out, *READ, *refused):
        traffic.add(Dissection(each))
    (finding,) = [each for each in traffic.findings() if each.id.startswith("KD4")]
    assert finding.id == "KD4501"
    assert finding.title.endswith(
        "(3 Produce requests with acks=all waited unanswered from 03:04:06.000 UTC)"
    )


@pytest.mark.thorough
def test_followers_that_stopped_are_found_in_a_capture_of_real_clients() -> None:
    """Two libraries write; those that do not wait for followers are not named."""
    traffic = Traffic(TopicNames())
    for item in decode_capture([DATA / "traffic" / "followers_stopped.pcap.gz"]):
        if isinstance(item, Exchange):
            traffic.add(Dissection(item))
    (finding,) = traffic.findings()
    assert finding.title.startswith(
        "ledger, kp-ledger cannot write to strict[0,1] with acks=all: 70 Produce requests"
    )
