from kdiag.client.fetch.position import PartitionKey
from kdiag.probe.rebalance.ownership import OwnerGap, OwnershipChange, OwnershipLog

GIVEN, TAKEN, READ = OwnershipChange.GIVEN, OwnershipChange.TAKEN, OwnershipChange.READ


def keys(*partitions: int) -> list[PartitionKey]:
    """Return partitions of the topic that counts."""
    return [PartitionKey("clicks", each) for each in partitions]


def moved() -> OwnershipLog:
    """Return what moves partition 0 from one member to another, and keeps 1 where it is."""
    log = OwnershipLog("clicks")
    log.create([0, 1], 1)
    log.add(GIVEN, "a", keys(0, 1), 2)
    log.add(READ, "a", keys(0, 1), 3)
    log.add(TAKEN, "a", keys(0), 10)
    log.add(GIVEN, "b", keys(0), 15)
    log.add(READ, "b", keys(0), 17)
    return log


def test_a_gap_is_the_time_between_two_owners() -> None:
    """And until the second one reads."""
    assert moved().gaps(9, 20) == [OwnerGap(0, "a", "b", 10, 15, 17)]
    assert moved().gaps(0, 5) == [
        OwnerGap(0, "", "a", 1, 2, 3),
        OwnerGap(1, "", "a", 1, 2, 3),
    ]


def test_a_partition_that_nobody_has_taken_is_without_an_owner_still() -> None:
    """As long as one asks for."""
    log = OwnershipLog("clicks")
    log.create([4], 10)
    [gap] = log.gaps(5, 20)
    assert gap == OwnerGap(4, "", None, 10, None)
    assert gap.unowned_ns(20) == 10


def test_changes_count_by_their_time_whichever_thread_came_first() -> None:
    """A member may note its partitions before another has noted that it gave them up."""
    log = OwnershipLog("clicks")
    log.add(GIVEN, "b", keys(0), 15)
    log.add(TAKEN, "a", keys(0), 10)
    log.add(GIVEN, "a", keys(0), 2)
    assert log.gaps(9, 20) == [OwnerGap(0, "a", "b", 10, 15)]
    assert log.owners(12) == {0: frozenset()}
    assert log.owners() == {0: {"b"}}


def test_partitions_of_other_topics_do_not_count() -> None:
    """A member that wants another topic owns partitions of that."""
    log = OwnershipLog("clicks")
    log.add(GIVEN, "a", [PartitionKey("other", 0)], 1)
    assert log.owners() == {}


def test_a_topic_is_shared_out_when_each_partition_has_one_reader_and_each_reader_any() -> None:
    """Two owners are as wrong as none, and so is one that is gone."""
    log = moved()
    assert log.is_shared_out(2, ["a", "b"])
    assert not log.is_shared_out(3, ["a", "b"])
    assert not log.is_shared_out(2, ["b", "c"])
    assert not log.is_shared_out(2, ["a", "b", "c"][:1])
    log.add(GIVEN, "a", keys(0), 20)
    assert not log.is_shared_out(2, ["a", "b"])


def test_a_topic_is_read_when_each_owner_has_read_what_it_was_given() -> None:
    """What its former owner had read does not count."""
    log = moved()
    assert log.is_read(2)
    log.add(TAKEN, "b", keys(0), 20)
    log.add(GIVEN, "a", keys(0), 21)
    assert not log.is_read(2)
    assert log.first_reads(9, 30) == {"b": 17}


def test_the_last_change_is_when_all_is_settled() -> None:
    """Reads change nothing; and where nothing changed there is none."""
    assert moved().last_change_ns(9, 30) == 15
    assert moved().last_change_ns(16, 30) is None
