"""The intents of Kafka's OffsetMetadataManagerTest.

Left out, with reasons: fetches at an older snapshot (a lab keeps no state but the latest);
testConsumerGroup* are in `group/consumer`.
"""

import pytest

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.offsets.offset_requests import (
    Committer,
    FetchedOffset,
    delete_offsets,
    fetch_offsets,
)
from kdiag.lab.coordinator.group.offsets.offset_store import PartitionOfTopic
from kdiag.lab.coordinator.runtime.coordinator_runtime import ProducerOfRecords
from kdiag.wire.error_code import error_name
from lab_ends.one_coordinator import GROUP, ORDERS, OneCoordinator


def fetched(coordinator: OneCoordinator, *, must_be_stable: bool = False) -> FetchedOffset:
    """Return what is told of orders-0."""
    shard = coordinator.groups.shard_of(GROUP)
    return fetch_offsets(shard, GROUP, [ORDERS], must_be_stable=must_be_stable)[ORDERS]


def test_what_is_committed_is_fetched(coordinator: OneCoordinator) -> None:
    """With what was said of it; also after a restart."""
    assert fetched(coordinator).offset == -1
    assert coordinator.commit(5, metadata="mine") == "NONE"
    for _ in range(2):
        assert fetched(coordinator) == FetchedOffset(0, 5, -1, "mine")
        coordinator.restart()


def test_nobodys_member_makes_a_group_that_has_only_offsets(coordinator: OneCoordinator) -> None:
    """Of no type; with a generation it has to be there before."""
    for version, error in ((8, "ILLEGAL_GENERATION"), (9, "GROUP_ID_NOT_FOUND")):
        assert coordinator.commit(5, Committer(GROUP, "a", None, 1, version)) == error
    stranger = Committer(GROUP, "a", None, 1, 9, is_transactional=True)
    assert coordinator.commit(5, stranger) == "ILLEGAL_GENERATION"
    assert coordinator.commit(5) == "NONE"
    assert (coordinator.group.state, coordinator.group.protocol_type) == ("Empty", None)


def test_a_member_that_commits_was_heard_of(coordinator: OneCoordinator) -> None:
    """Its session begins anew."""
    one, two = coordinator.stable()
    for _ in range(4):
        coordinator.advance(6_000_000_000)
        two.heartbeat()
        assert coordinator.commit(5, one.committer) in {"NONE", "REBALANCE_IN_PROGRESS"}
    assert one.heartbeat() == "NONE"


def test_who_is_no_member_may_not_commit(coordinator: OneCoordinator) -> None:
    """While there are others."""
    one, _ = coordinator.stable()
    assert coordinator.commit(5) == "UNKNOWN_MEMBER_ID"
    later = one.committer._replace(generation_id=7)
    assert coordinator.commit(5, later) == "ILLEGAL_GENERATION"


def test_too_much_metadata_is_refused(coordinator: OneCoordinator) -> None:
    """`offset.metadata.max.bytes`."""
    assert coordinator.commit(5, metadata="x" * 4096) == "NONE"
    assert coordinator.commit(6, metadata="x" * 4097) == "OFFSET_METADATA_TOO_LARGE"
    assert fetched(coordinator).offset == 5


def test_a_reader_of_stable_offsets_waits_for_transactions(coordinator: OneCoordinator) -> None:
    """Others are told what is committed already."""
    coordinator.commit(5)
    who = Committer(GROUP, "", None, -1, 3, is_transactional=True)
    producer = ProducerOfRecords(17, 0)
    assert coordinator.commit(9, who, producer=producer) == "NONE"
    assert fetched(coordinator).offset == 5
    unstable = fetched(coordinator, must_be_stable=True)
    assert (error_name(unstable.error_code), unstable.offset) == ("UNSTABLE_OFFSET_COMMIT", -1)
    coordinator.groups.complete_transaction(0, 17, 0, is_commit=True)
    assert fetched(coordinator, must_be_stable=True).offset == 9


def test_all_offsets_of_a_group_may_be_asked_for(coordinator: OneCoordinator) -> None:
    """A group that nobody knows has none."""
    coordinator.commit(5)
    shard = coordinator.groups.shard_of(GROUP)
    assert list(fetch_offsets(shard, GROUP, None, must_be_stable=False)) == [ORDERS]
    assert fetch_offsets(shard, "other", None, must_be_stable=False) == {}


def test_offsets_are_deleted_unless_members_read_the_topic(coordinator: OneCoordinator) -> None:
    """What is not there need not be written."""
    shard = coordinator.groups.shard_of(GROUP)
    with pytest.raises(RequestRefusedError, match="GROUP_ID_NOT_FOUND"):
        delete_offsets(shard, GROUP, [ORDERS])
    coordinator.commit(5)
    other = PartitionOfTopic("payments", 0)
    records, codes = delete_offsets(shard, GROUP, [ORDERS, other])
    assert (len(records), codes) == (1, {ORDERS: 0, other: 0})
    coordinator.stable()
    records, codes = delete_offsets(shard, GROUP, [ORDERS, other])
    assert records == []
    assert error_name(codes[ORDERS]) == "GROUP_SUBSCRIBED_TO_TOPIC"
    assert codes[other] == 0
