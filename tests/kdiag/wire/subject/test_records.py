from typing import Any

from exchange_maker import make_batch, make_exchange
from kdiag.wire.api.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
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
from kdiag.wire.api.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kdiag.wire.api.share_fetch import (
    AcquiredRecords,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from kdiag.wire.api.share_fetch import PartitionData as SharePartitionData
from kdiag.wire.dissection import Dissection
from kdiag.wire.record import BatchHeader, Record
from kdiag.wire.records import write_batch
from kdiag.wire.schema import Struct
from kdiag.wire.subject.line import Subjects
from kdiag.wire.topic_names import TopicNames

ID = bytes(15) + b"\x09"


def about(
    asked: Struct | None, answered: Struct | None = None, *, version: int, **changes: Any
) -> str:
    """Return what an exchange of two messages is about."""
    exchange = make_exchange(asked, answered, version=version, **changes)
    return Subjects(TopicNames({"AAAAAAAAAAAAAAAAAAAACQ": "orders"})).of(Dissection(exchange))


def test_produce_tells_records_size_codec_acks_and_offsets() -> None:
    """Over all partitions together."""
    batch = make_batch(b"a", b"b", compression="gzip")
    partitions = [PartitionProduceData(0, batch), PartitionProduceData(1, batch)]
    asked = ProduceRequest(acks=-1, topic_data=[TopicProduceData("t", partition_data=partitions)])
    offsets = [PartitionProduceResponse(0, base_offset=5), PartitionProduceResponse(1, 3, -1)]
    answered = ProduceResponse(responses=[TopicProduceResponse("t", partition_responses=offsets)])
    size = 2 * len(batch)
    line = about(asked, answered, version=3)
    assert line == f"t[0,1] 4 records {size} B gzip, acks all → at 5"


def test_produce_tells_the_transaction() -> None:
    """Its batches say that they belong to one."""
    batch = make_batch(
        b"a", is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=0
    )
    topic = TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])
    asked = ProduceRequest(acks=1, transactional_id="pay", topic_data=[topic])
    said = f"t[0] 1 record {len(batch)} B transactional, acks 1, transaction pay"
    assert about(asked, version=3) == said


def test_broken_messages_of_old_are_counted_as_batches() -> None:
    """How many records are inside only reading them would tell."""
    batch = bytearray(
        write_batch([Record(0, value=b"v")], BatchHeader(magic=1, compression="gzip"))
    )
    batch[-9] ^= 0xFF
    topic = TopicProduceData("t", partition_data=[PartitionProduceData(0, bytes(batch))])
    line = about(ProduceRequest(acks=1, topic_data=[topic]), version=2)
    assert line == f"t[0] 1 batch {len(batch)} B gzip, acks 1"


def test_fetch_tells_offsets_and_what_came() -> None:
    """A single partition also tells its high watermark."""
    asked = FetchRequest(
        max_wait_ms=500,
        topics=[FetchTopic(topic_id=ID, partitions=[FetchPartition(2, fetch_offset=44)])],
    )
    batch = make_batch(b"a", b"b")
    partition = PartitionData(2, high_watermark=90, records=batch)
    answered = FetchResponse(responses=[FetchableTopicResponse("", ID, [partition])])
    line = about(asked, answered, version=13)
    assert line == f"orders[2@44], wait 500 ms → 2 records {len(batch)} B, HW 90"
    assert about(asked, FetchResponse(), version=13) == "orders[2@44], wait 500 ms → nothing new"
    failed = FetchResponse(error_code=70)
    assert about(asked, failed, version=13) == "orders[2@44], wait 500 ms"


def test_an_incremental_fetch_tells_its_session() -> None:
    """By what it reads if that is known, else by number; what it gives up is told."""
    asked = FetchRequest(max_wait_ms=500, session_id=77, session_epoch=3)
    pairs = [("AAAAAAAAAAAAAAAAAAAACQ", 0), ("AAAAAAAAAAAAAAAAAAAACQ", 1)]
    assert about(asked, version=13, session_topics=pairs) == "orders[0,1], wait 500 ms"
    asked.forgotten_topics_data = [ForgottenTopic(topic_id=ID, partitions=[3])]
    assert about(asked, version=13) == "session 77, without orders[3], wait 500 ms"


def test_a_follower_is_told_from_a_consumer() -> None:
    """The replica's id is a field of its own from version 15 on."""
    topics = [FetchTopic("t", partitions=[FetchPartition(0)])]
    assert about(FetchRequest(replica_id=3, topics=topics), version=12).startswith(
        "replica 3: t[0@0]"
    )
    state = ReplicaState(replica_id=2)
    assert about(FetchRequest(replica_state=state), version=15).startswith("replica 2: ")


def test_list_offsets_names_the_special_times() -> None:
    """Version 0 answers with several offsets of a partition."""
    partitions = [ListOffsetsPartition(0, timestamp=-2), ListOffsetsPartition(1, timestamp=1_700)]
    asked = ListOffsetsRequest(topics=[ListOffsetsTopic("t", partitions)])
    found = [ListOffsetsPartitionResponse(0, offset=7), ListOffsetsPartitionResponse(1, offset=-1)]
    answered = ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", found)])
    assert about(asked, answered, version=1) == "t[0 earliest,1 1700] → 7, none"
    old = [ListOffsetsPartitionResponse(0, old_style_offsets=[9, 0])]
    answered = ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", old)])
    assert about(asked, answered, version=0).endswith("→ 9 0")


def test_metadata_tells_all_topics_from_none() -> None:
    """In version 0 an empty list means all."""
    assert about(MetadataRequest(topics=None), version=9) == "all topics"
    assert about(MetadataRequest(topics=[]), version=0) == "all topics"
    assert about(MetadataRequest(topics=[]), version=1) == "brokers only"
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="a"), MetadataRequestTopic(name="b")])
    partitions = [MetadataResponsePartition(), MetadataResponsePartition()]
    topics = [MetadataResponseTopic(partitions=partitions), MetadataResponseTopic()]
    answered = MetadataResponse(brokers=[MetadataResponseBroker()], controller_id=1, topics=topics)
    line = about(asked, answered, version=9)
    assert line == "a b → 1 broker, controller 1, 2 topics, 2 partitions"


def test_deleted_records_are_told_by_offset() -> None:
    """-1 stands for all of them."""
    partitions = [DeleteRecordsPartition(0, 50), DeleteRecordsPartition(1, -1)]
    asked = DeleteRecordsRequest(topics=[DeleteRecordsTopic("t", partitions)])
    assert about(asked, version=1) == "t[0 before 50,1 all]"


def test_share_fetch_tells_what_was_acquired() -> None:
    """Records that came are not all acquired by this member."""
    batch = make_batch(b"a", b"b", b"c")
    partition = SharePartitionData(records=batch, acquired_records=[AcquiredRecords(0, 1, 1)])
    answered = ShareFetchResponse(responses=[ShareFetchableTopicResponse(ID, [partition])])
    line = about(ShareFetchRequest(group_id="g", max_wait_ms=9), answered, version=1)
    assert line == f"group g, wait 9 ms → 3 records {len(batch)} B, 2 acquired"
    empty = ShareFetchResponse()
    assert about(ShareFetchRequest(group_id="g"), empty, version=1).endswith("→ nothing new")


def test_acknowledgements_are_counted_by_their_kind() -> None:
    """One type may stand for all records of a range, or each has its own."""
    batches = [AcknowledgementBatch(0, 9, [1]), AcknowledgementBatch(10, 11, [2, 1])]
    topic = AcknowledgeTopic(ID, [AcknowledgePartition(0, batches)])
    asked = ShareAcknowledgeRequest(group_id="g", topics=[topic])
    assert about(asked, version=1) == "group g, orders[0], accept 11 release 1"
