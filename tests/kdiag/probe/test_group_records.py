import pytest

from group_stories.record_story import RecordStory, pair_of, shared
from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_S
from kdiag.errors import AuthorizationError
from kdiag.probe.group_records import TOPIC, GroupRecordsReader
from kdiag.wire.coordinator_partition import coordinator_partition
from scripted_kafka.log_cluster import Log, LogCluster

PARTITIONS = 3
HOME = coordinator_partition("orders", PARTITIONS)


def read(client: ClusterClient, *groups: str) -> GroupRecordsReader:
    """Read the records of some groups, or of all."""
    reader = GroupRecordsReader(client, groups)
    while not reader.is_done:
        reader.poll(client.clock.monotonic_ns() + NS_PER_S)
    return reader


def logs_of(cluster: LogCluster) -> list[Log]:
    """Return the partitions of the coordinators' topic, which two brokers lead."""
    return [cluster.add(TOPIC, number, leader=1 + number % 2) for number in range(PARTITIONS)]


def write(log: Log, story: RecordStory) -> None:
    """Write the records of a story."""
    for record in story.records:
        log.append_pairs(pair_of(record), timestamp=record.at_ns // 1_000_000)


def story_of(prefix: str = "Consumer") -> RecordStory:
    """Return the records of a group of each kind."""
    story = RecordStory(prefix)
    story.classic(1, shared("a"))
    story.removed()
    story.member("m")
    story.epoch(1)
    story.target(1, m=(0, 1))
    story.takes_up("m", 1)
    return story


def test_records_come_back_as_they_were_written() -> None:
    """With their partition, offset and time; commits and markers are passed over."""
    story = story_of()
    with LogCluster(2) as cluster, cluster.client() as client:
        logs = logs_of(cluster)
        logs[HOME].append_pairs((b"\x00\x01\x00\x06orders", b"\x00\x03"), (b"\x00\x00old", None))
        write(logs[HOME], story)
        reader = read(client, "orders")

    assert [each.value for each in reader.records] == [each.value for each in story.records]
    assert [each.name for each in reader.records] == [each.name for each in story.records]
    first = reader.records[0]
    assert (first.evidence.kind, first.evidence.file) == ("offset", f"{TOPIC}[{HOME}]")
    assert (first.evidence.at, first.at_ns) == (2, story.records[0].at_ns)
    assert reader.records[2].member_id == "m"
    assert (reader.unread_count, reader.warnings, reader.is_partial) == (0, [], False)


def test_only_the_partitions_of_the_groups_are_read() -> None:
    """And of them only the records of those groups."""
    with LogCluster(2) as cluster, cluster.client() as client:
        for log in logs_of(cluster):
            write(log, story_of())
        found = {each.evidence.file for each in read(client, "orders").records}
        everywhere = {each.evidence.file for each in read(client).records}
        nothing = read(client, "payments").records

    assert found == {f"{TOPIC}[{HOME}]"}
    assert len(everywhere) == PARTITIONS
    assert nothing == []


def test_what_cannot_be_read_is_counted() -> None:
    """A type that is not known, a value of another version, a key that is cut."""
    with LogCluster(1) as cluster, cluster.client() as client:
        log = cluster.add(TOPIC, 0)
        key, value = pair_of(story_of().records[0])
        assert value is not None
        log.append_pairs(
            (b"\x00\x63key", b"\0\0"),
            (key, b"\x00\x63" + value[2:]),
            (key[:-2], value),
            (key, value),
        )
        reader = read(client)

    assert reader.unread_count == 3
    assert len(reader.records) == 1


def test_a_cluster_without_groups_has_no_topic() -> None:
    """It is made when the first group is."""
    with LogCluster(1) as cluster, cluster.client() as client:
        reader = read(client, "orders")

    assert (reader.has_topic, reader.records) == (False, [])


@pytest.mark.parametrize("is_hidden", [True, False])
def test_a_missing_right_is_named(*, is_hidden: bool) -> None:
    """Whether the topic may not even be seen, or not be read."""
    with LogCluster(1) as cluster, cluster.client() as client:
        log = cluster.add(TOPIC, 0)
        log.append(b"x")
        if is_hidden:
            cluster.denied.add(TOPIC)
        else:
            log.error = "TOPIC_AUTHORIZATION_FAILED"
        with pytest.raises(AuthorizationError, match="it takes DESCRIBE and READ on the topic"):
            read(client, "orders")


def test_topic_ids_have_names() -> None:
    """Those of topics that are gone have none."""
    with LogCluster(1) as cluster, cluster.client() as client:
        cluster.add("clicks", 0)
        reader = read(client)

    assert reader.topic_name("AAAAAAAAAAAAAAAAAAAAAQ") == "clicks"
    assert reader.topic_name("AAAAAAAAAAAAAAAAAAAAAg") is None
