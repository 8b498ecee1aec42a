import pytest

from kdiag.wire.api.fetch import FetchPartition, FetchTopic
from kdiag.wire.subject.phrase import (
    Topics,
    clause,
    count,
    index_of,
    listed,
    quoted,
    short_id,
    size,
)
from kdiag.wire.topic_names import TopicNames

ID = "AAAAAAAAAAAAAAAAAAAACQ"
TOPICS = Topics(TopicNames({ID: "orders"}))


def test_nouns_follow_their_numbers() -> None:
    """One is singular, words in s and ch get es, thousands are separated."""
    assert count(1, "record") == "1 record"
    assert count(0, "record") == "0 records"
    assert count(2, "batch") == "2 batches"
    assert count(2, "address") == "2 addresses"
    assert count(12_345, "packet") == "12,345 packets"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (9_949, "9.9 kB"),
        (9_960, "10 kB"),
        (12_345, "12 kB"),
        (999_600, "1.0 MB"),
        (5_000_000_000, "5.0 GB"),
        (7 * 10**15, "7000 TB"),
    ],
)
def test_sizes_have_two_or_three_digits(number: int, text: str) -> None:
    """Units are decimal, as network tools count."""
    assert size(number) == text


def test_long_lists_end_with_what_is_left_out() -> None:
    """Eight words are shown."""
    assert listed([]) == ""
    assert listed(["a", "b"], ", ") == "a, b"
    assert listed([str(n) for n in range(10)], ",") == "0,1,2,3,4,5,6,7,+2"


def test_clauses_leave_out_what_says_nothing() -> None:
    """Empty and absent parts leave no comma behind."""
    assert clause("a", None, "", "b") == "a, b"
    assert quoted("why") == '"why"'


def test_member_ids_lose_most_of_their_uuid() -> None:
    """Eight characters tell members of a group apart; what is no UUID stays."""
    uuid = "a5d3d805-1111-2222-3333-444444444444"
    assert short_id(f"reader-{uuid}") == "reader-a5d3d805…"
    assert short_id("tYHlZ600RWWpvwCPMkcEWA") == "tYHlZ600…"
    assert short_id("reader-1") == "reader-1"


def test_topics_are_named_with_their_partitions() -> None:
    """Ids become names where these are known; a mark stands behind each partition."""
    known = FetchTopic(topic_id=bytes(15) + b"\x09", partitions=[FetchPartition(0, fetch_offset=5)])
    named = FetchTopic("payments", partitions=[FetchPartition(1), FetchPartition(2)])
    unknown = FetchTopic(topic_id=bytes(16 * [1]), partitions=[FetchPartition(3)])
    assert TOPICS.partitions([known, named]) == "orders[0] payments[1,2]"
    assert TOPICS.partitions([known], lambda each: f"@{each.fetch_offset}") == "orders[0@5]"
    assert TOPICS.partitions([unknown]) == "AQEBAQEBAQEBAQEBAQEBAQ[3]"
    assert TOPICS.partitions([FetchTopic()]) == ""
    assert TOPICS.partitions(None) == ""
    assert TOPICS.names([known, named]) == "orders payments"


def test_pairs_are_grouped_by_topic() -> None:
    """That is how a session's partitions are written."""
    assert TOPICS.pairs([(ID, 0), ("b", 1), (ID, 2)]) == "orders[0,2] b[1]"


def test_a_partition_is_a_number_or_a_struct_with_one() -> None:
    """Kafka's schemas call it by several names."""
    assert index_of(4) == 4
    assert index_of(FetchPartition(5)) == 5
    assert index_of(FetchTopic()) == -1
