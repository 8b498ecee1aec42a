from kdiag.lab.fault.request_subject import RequestSubject, RequestSubjects, SubjectTopic
from kdiag.wire.api.delete_topics import DeleteTopicsRequest
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
from kdiag.wire.api.join_group import JoinGroupRequest
from kdiag.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.schema import ZERO_UUID

ID = bytes(15) + b"\1"


def subjects() -> RequestSubjects:
    """Return a reader that knows one topic by its id."""
    return RequestSubjects({ID: "orders"}.get)


def fetch(topic: str, *partitions: int, epoch: int = 0) -> FetchRequest:
    """Return a Fetch of a session."""
    parts = [FetchPartition(partition=each) for each in partitions]
    topics = [FetchTopic(topic=topic, partitions=parts)] if parts else []
    return FetchRequest(session_epoch=epoch, topics=topics)


def test_partitions_are_found_by_name_or_by_id() -> None:
    """Wherever they stand."""
    data = [PartitionProduceData(index=each) for each in (2, 0)]
    request = ProduceRequest(topic_data=[TopicProduceData(topic_id=ID, partition_data=data)])
    assert subjects().read("1", request).topics == (SubjectTopic("orders", ID, (0, 2)),)
    unknown = ProduceRequest(topic_data=[TopicProduceData(topic_id=b"x" * 16)])
    assert subjects().read("1", unknown).topics == (SubjectTopic(None, b"x" * 16, ()),)


def test_groups_are_found() -> None:
    """With the partitions that are asked for them."""
    topics = [OffsetFetchRequestTopics(name="orders", partition_indexes=[1])]
    groups = [OffsetFetchRequestGroup(group_id="billing", topics=topics)]
    subject = subjects().read("1", OffsetFetchRequest(groups=groups))
    assert "billing" in subject.groups
    assert subject.topics == (SubjectTopic("orders", ZERO_UUID, (1,)),)
    assert subjects().read("1", JoinGroupRequest(group_id="g")).groups == ("g",)
    assert subjects().read("1", FindCoordinatorRequest(key="g")).groups == ("g",)
    assert subjects().read("1", FindCoordinatorRequest(coordinator_keys=["h"])).groups == ("h",)


def test_lists_of_names_are_topics_too() -> None:
    """Without partitions."""
    request = DeleteTopicsRequest(topic_names=["orders"])
    assert subjects().read("1", request) == RequestSubject((SubjectTopic("orders", ZERO_UUID, ()),))


def test_a_fetch_of_a_session_is_about_all_that_it_reads() -> None:
    """Though it names only what changes, until the session begins anew or the connection ends."""
    reader = subjects()
    reader.read("1", fetch("orders", 0, 1))
    assert reader.read("1", fetch("", epoch=1)).topics == (
        SubjectTopic("orders", ZERO_UUID, (0, 1)),
    )
    forgetting = fetch("other", 5, epoch=2)
    forgetting.forgotten_topics_data = [ForgottenTopic(topic="orders", partitions=[1])]
    assert {each.name: each.partitions for each in reader.read("1", forgetting).topics} == {
        "orders": (0,),
        "other": (5,),
    }
    assert reader.read("2", fetch("", epoch=3)).topics == ()
    reader.forget("1")
    assert reader.read("1", fetch("", epoch=3)).topics == ()
