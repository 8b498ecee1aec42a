from random import Random
from typing import Any

import pytest

from kdiag.diagnosis.traffic.producing import LARGEST_BATCH_BYTES, Producing
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.summary.counts import Summary
from kdiag.findings.finding import Finding
from kdiag.wire.api.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from recordings.exchange_maker import START_NS, make_batch, make_connection, make_exchange

MS = 1_000_000


def produce(
    number: int,
    *values: bytes,
    partition: int = 0,
    every_ms: int = 10,
    acks: int = -1,
    **header: Any,
) -> Exchange:
    """Return the Produce exchange of this number, which come one after the other."""
    data = PartitionProduceData(index=partition, records=make_batch(*values, **header))
    topic = TopicProduceData(name="orders", partition_data=[data])
    exchange = make_exchange(
        ProduceRequest(topic_data=[topic], acks=acks),
        ProduceResponse() if acks else None,
        version=9,
        number=number,
        pairing=Status.OK if acks else Status.NO_RESPONSE,
    )
    assert exchange.request is not None
    exchange.request.first_byte_ns = START_NS + number * every_ms * MS
    return exchange


def noise(number: int) -> bytes:
    """Return bytes that nothing compresses."""
    return Random(number).randbytes(10_000)


def judged(exchanges: list[Exchange], partitions: int = 0) -> list[Finding]:
    """Return what is found, whether each is read or those like others are only counted."""
    found = []
    for is_each_read in (True, False):
        producing = Producing(TopicNames())
        if partitions:
            producing.learn_partitions(_metadata(partitions))
        summary = Summary(TopicNames())
        summary.watch = producing.add
        for exchange in exchanges:
            if is_each_read or not summary.add_like(exchange):
                summary.add(Dissection(exchange))
        summary.count_fresh()
        found.append(list(producing.findings()))
    assert found[0] == found[1]
    return found[0]


def _metadata(partitions: int) -> MetadataResponse:
    listed = [MetadataResponsePartition(partition_index=each) for each in range(partitions)]
    return MetadataResponse(topics=[MetadataResponseTopic(name="orders", partitions=listed)])


def test_one_record_per_request_is_found() -> None:
    """If there are many of them, and many a second."""
    (finding,) = judged([produce(number, b"x") for number in range(1, 201)])

    assert (finding.id, finding.evidence["records"], finding.evidence["per_s"]) == (
        "KD4101",
        200,
        100,
    )
    assert judged([produce(number, b"x", every_ms=1_000) for number in range(1, 201)]) == []
    assert judged([produce(number, b"x") for number in range(1, 50)]) == []


def test_clients_of_one_name_on_two_hosts_are_told_apart() -> None:
    """Their requests differ in no byte that matters, and the first of each kind is read alone."""
    exchanges = [produce(number, b"x") for number in range(1, 401)]
    for each in exchanges[300:]:
        each.connection = make_connection(client="10.0.0.9:5000", number=2)
    (finding,) = judged(exchanges)

    assert (finding.evidence["requests"], finding.evidence["subjects"]) == (300, 2)
    assert finding.evidence["others"] == ["app (10.0.0.9)"]


def test_tiny_batches_are_found() -> None:
    """Larger ones are none, however many there are."""
    (finding,) = judged([produce(number, b"x", b"y") for number in range(1, 201)])

    assert (finding.id, finding.evidence["records"]) == ("KD4102", 400)
    assert judged([produce(number, noise(number), b"x") for number in range(1, 201)]) == []


def test_acks_0_is_found() -> None:
    """Once is enough: what is lost then, nobody learns."""
    (finding,) = judged([produce(1, b"x"), produce(2, b"x", acks=0)])

    assert (finding.id, finding.evidence["requests"]) == ("KD4104", 1)
    assert finding.evidence["exchange"] == 2


@pytest.mark.thorough
def test_text_that_is_not_compressed_is_found() -> None:
    """From a megabyte on; what is random already is not, nor what is compressed."""
    text = b"the quick brown fox jumps over the lazy dog " * 1_000
    (finding,) = judged([produce(number, text, every_ms=100) for number in range(1, 31)])

    assert (finding.id, finding.evidence["topic"]) == ("KD4103", "orders")
    assert finding.evidence["saved_pct"] > 90
    few = [produce(number, text, every_ms=100) for number in range(1, 10)]
    assert judged(few) == []
    random = [
        produce(number, noise(number), noise(number + 1_000), every_ms=100)
        for number in range(1, 61)
    ]
    assert judged(random) == []
    small = [produce(number, text[:3_000], every_ms=1_000) for number in range(1, 401)]
    assert judged(small) == [], "one by one they would hardly get smaller"
    packed = [produce(number, text, every_ms=100, compression="lz4") for number in range(1, 31)]
    assert judged(packed) == []


def test_a_batch_above_the_default_limit_is_found() -> None:
    """By its size, with the exchange that has it."""
    (finding,) = judged([produce(7, b"x" * LARGEST_BATCH_BYTES, compression="none")])[-1:]

    assert (finding.id, finding.evidence["exchange"]) == ("KD4105", 7)


@pytest.mark.parametrize(("hot", "ids"), [(9, ["KD4106"]), (2, [])])
def test_a_partition_that_gets_most_bytes_is_hot(hot: int, ids: list[str]) -> None:
    """Of ten requests nine go to partition 3; each partition counts by what the request says."""
    exchanges = [
        produce(number, noise(number), b"x", partition=3 if number % 10 < hot else number % 8)
        for number in range(1, 201)
    ]
    found = judged(exchanges, partitions=8)

    assert [each.id for each in found] == ids
    for finding in found:
        assert (finding.evidence["partition"], finding.evidence["partitions"]) == (3, 8)
        assert finding.evidence["share_pct"] in range(90, 93)
