"""Requests that several tests send to a lab."""

from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData


def produce_request(topic: str, partition: int, records: bytes, acks: int = -1) -> ProduceRequest:
    """Return a produce of one partition."""
    data = PartitionProduceData(index=partition, records=records)
    named = TopicProduceData(name=topic, partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[named])
