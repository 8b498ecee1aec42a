"""Which partitions somebody means."""

from fnmatch import fnmatchcase

import pytest

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.network.metadata import Broker, Cluster, Partition, Topic
from kdiag.errors import AuthorizationError, ConfigError
from kdiag.probe.tail.offset_spec import text_of
from kdiag.probe.tail.topic_selection import (
    TopicSelector,
    may_grow,
    names_to_ask,
    parse_selector,
    select,
)
from kdiag.wire.error_code import CODE_BY_NAME
from tiers.cases import for_each


def topic(
    name: str, partitions: int = 2, *, is_internal: bool = False, error: str = "NONE"
) -> Topic:
    """Return a topic with so many partitions, led by broker 1."""
    parts = [Partition(name, n, 1, 0, (1,), (1,), ()) for n in range(partitions)]
    return Topic(name, bytes(16), is_internal, tuple(parts), CODE_BY_NAME[error])


def cluster(*topics: Topic) -> Cluster:
    """Return a cluster with topics."""
    return Cluster({1: Broker(1, "localhost", 9092)}, {each.name: each for each in topics})


ALL = cluster(
    topic("orders"),
    topic("orders-dlq", 1),
    topic("payments"),
    topic("__consumer_offsets", 1, is_internal=True),
)


def selected(*texts: str) -> dict[str, str | None]:
    """Return what texts select of all topics."""
    found = select([parse_selector(each) for each in texts], ALL)
    return {str(key): own and text_of(own) for key, own in found.items()}


def test_a_name_selects_all_partitions() -> None:
    """Without offsets of their own."""
    assert selected("orders") == {"orders[0]": None, "orders[1]": None}


@for_each("pattern", ["*", "tx*", "a?c", "[ab]-[!x]*", "__*"])
def test_a_pattern_has_an_example(pattern: str) -> None:
    """A name that it matches, and that Kafka allows."""
    example = TopicSelector(pattern).example
    assert fnmatchcase(example, pattern)
    assert parse_selector(example).pattern == example


def test_partitions_are_listed_with_commas_and_spans() -> None:
    """Each may have the offset to begin at."""
    assert parse_selector("t:0,3,5-7") == TopicSelector("t", dict.fromkeys([0, 3, 5, 6, 7]))
    assert selected("orders:1@77") == {"orders[1]": "77"}


@for_each("own", ["0", "77", "+3", "beginning", "end", "@1767225600000"])
def test_a_partition_has_any_position_of_its_own(own: str) -> None:
    """Written as it is read; it counts more than a selector without one."""
    assert selected(f"orders:1@{own}", "orders") == {"orders[0]": None, "orders[1]": own}


def test_what_nobody_lists_is_new() -> None:
    """It is read from its beginning; of patterns there may be none."""
    assert selected("orders:0@3,new") == {"orders[0]": "3", "orders[1]": "beginning"}
    assert selected("orders-dlq:0@7", "orders*:new", "none*:new") == {
        "orders-dlq[0]": "7",
        "orders[0]": "beginning",
        "orders[1]": "beginning",
    }
    assert may_grow([parse_selector("orders:0,new")])


def test_patterns_select_topics_that_match_but_internal_ones_only_when_meant() -> None:
    """`*` would else be flooded by commits."""
    assert {name.split("[")[0] for name in selected("*")} == {"orders", "orders-dlq", "payments"}
    assert set(selected("__*")) == {"__consumer_offsets[0]"}
    assert set(selected("orders*:0")) == {"orders[0]", "orders-dlq[0]"}
    assert set(selected("orders*:1")) == {"orders[1]"}


@for_each(
    ("text", "why"),
    [
        ("", "a topic has a name"),
        (":1", "a topic has a name"),
        ("^(", "names of topics have letters, digits"),
        ("a b:1", "names of topics have letters, digits"),
        ("t" * 250, "names of topics have"),
        ("t:", "expected partitions such as"),
        ("t:x", "expected partitions such as"),
        ("t:0@x", "no offset"),
        ("t:0@-5", "counted over all partitions"),
        ("t:0-999999999", "more than"),
    ],
)
def test_what_is_no_selection_is_refused(text: str, why: str) -> None:
    """The message says how to write it."""
    with pytest.raises(ConfigError, match=why):
        parse_selector(text)


@for_each(
    ("text", "why"),
    [
        ("order", "does not exist; did you mean orders"),
        ("zzz", "does not exist$"),
        ("zzz*", "no topic matches"),
        ("orders:2", "has partitions 0 to 1"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(text: str, why: str) -> None:
    """A typing mistake must not wait for ever."""
    with pytest.raises(ConfigError, match=why):
        selected(text)


def test_a_topic_that_may_not_be_seen_is_a_matter_of_rights() -> None:
    """Its error says so."""
    denied = cluster(topic("orders", 0, error="TOPIC_AUTHORIZATION_FAILED"))
    with pytest.raises(AuthorizationError, match="not authorized"):
        select([parse_selector("orders")], denied)


def test_another_error_of_a_topic_is_told_by_its_name() -> None:
    """Such as a name that the broker does not take."""
    invalid = cluster(topic("..", 0, error="INVALID_TOPIC_EXCEPTION"))
    with pytest.raises(ConfigError, match="INVALID_TOPIC_EXCEPTION"):
        select([parse_selector("..")], invalid)


def test_later_what_is_gone_is_left_out() -> None:
    """A tail that runs does not end because a topic does."""
    assert select([parse_selector("zzz"), parse_selector("orders:7")], ALL, must_exist=False) == {}
    assert PartitionKey("orders", 0) in select([parse_selector("orders")], ALL, must_exist=False)


def test_names_are_asked_for_by_name_and_patterns_need_all() -> None:
    """What may grow is looked at again."""
    plain, some, pattern = (parse_selector(each) for each in ("b", "a:1", "c*"))
    assert names_to_ask([plain, some]) == ["a", "b"]
    assert names_to_ask([plain, pattern]) is None
    assert [may_grow([each]) for each in (plain, some, pattern)] == [True, False, True]
