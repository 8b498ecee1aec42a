from kdiag.wire.api.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks
from lab_ends.one_coordinator import GROUP


def delete(asks: GroupAsks, *partitions: int, group_id: str = GROUP) -> OffsetDeleteResponse:
    """Ask to forget offsets."""
    topic = OffsetDeleteRequestTopic(
        name="orders",
        partitions=[OffsetDeleteRequestPartition(partition_index=each) for each in partitions],
    )
    request = OffsetDeleteRequest(group_id=group_id, topics=[topic])
    return asks.client.ask(request, OffsetDeleteResponse, 0)


def errors_of(response: OffsetDeleteResponse) -> list[str]:
    """Return the error of each partition."""
    return [error_name(each.error_code) for each in response.topics[0].partitions]


def test_offsets_are_forgotten(asks: GroupAsks) -> None:
    """A partition that does not exist is told."""
    asks.commit(5, partitions=(0, 1))
    assert errors_of(delete(asks, 0, 7)) == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION"]


def test_offsets_that_members_need_are_kept(asks: GroupAsks) -> None:
    """GROUP_SUBSCRIBED_TO_TOPIC."""
    asks.join()
    asks.sync()
    asks.commit(5)
    assert errors_of(delete(asks, 0)) == ["GROUP_SUBSCRIBED_TO_TOPIC"]


def test_a_group_has_to_be_known(asks: GroupAsks) -> None:
    """Those are errors of the whole."""
    assert error_name(delete(asks, 0).error_code) == "GROUP_ID_NOT_FOUND"
    assert error_name(delete(asks, 0, group_id="").error_code) == "INVALID_GROUP_ID"
