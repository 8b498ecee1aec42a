"""What is told of a reading."""

import pytest

from client_ends.client_peers import S
from kdiag.client.fetch.notices import SETTLED_NS, FetchNotices, names
from kdiag.client.fetch.position import Notice, NoticeKind, PartitionKey
from kdiag.clock import ManualClock

FIRST, SECOND = PartitionKey("orders", 0), PartitionKey("orders", 1)


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still."""
    return ManualClock()


@pytest.fixture
def notices(clock: ManualClock) -> FetchNotices:
    """Notices by that clock."""
    return FetchNotices(clock)


def texts(notices: FetchNotices) -> list[str]:
    """Return the lines."""
    return [each.text for each in notices.pop()]


def test_partitions_of_which_the_same_is_said_share_a_line(notices: FetchNotices) -> None:
    """However many a broker led that died."""
    for number in (0, 1, 2, 7):
        notices.add(NoticeKind.NO_LEADER, "no leader", PartitionKey("orders", number))
    notices.add(NoticeKind.NO_LEADER, "no leader", PartitionKey("a", 5))
    notices.add(NoticeKind.CORRUPT, "another line")
    assert notices.pop() == [
        Notice(NoticeKind.NO_LEADER, "a[5], orders[0-2,7]: no leader"),
        Notice(NoticeKind.CORRUPT, "another line"),
    ]
    assert notices.pop() == []


def test_partitions_are_named_with_their_offsets_where_they_have_some() -> None:
    """As `kdiag tail` takes them; of many topics only the first are named."""
    assert names({FIRST: 120, SECOND: 77}) == "orders[0@120,1@77]"
    many = names({PartitionKey(f"topic-{n:02}", 0): None for n in range(14)})
    assert many.startswith("topic-00[0], topic-01[0], ")
    assert many.endswith("topic-09[0], and 4 more topics")


def test_a_trouble_is_told_once_and_its_end_when_all_has_been_well_for_a_while(
    notices: FetchNotices, clock: ManualClock
) -> None:
    """A broker that comes and goes is one line, not hundreds."""
    for _ in range(100):
        notices.begin_trouble(1, NoticeKind.DISCONNECTED, "broker 1 does not answer")
        clock.advance(SETTLED_NS // 2)
        notices.end_trouble(1)
    assert texts(notices) == ["broker 1 does not answer"]
    clock.advance(SETTLED_NS)
    assert texts(notices) == ["broker 1 answers again"]
    clock.advance(SETTLED_NS)
    assert texts(notices) == []
    notices.begin_trouble(1, NoticeKind.DISCONNECTED, "broker 1 does not answer")
    assert texts(notices) == ["broker 1 does not answer"]


def test_several_troubles_of_a_partition_are_told_once_each(
    notices: FetchNotices, clock: ManualClock
) -> None:
    """Whatever comes first; they end together."""
    for _ in range(3):
        notices.begin_trouble(FIRST, NoticeKind.NO_LEADER, "no leader")
        notices.begin_trouble(FIRST, NoticeKind.DENIED, "not authorized")
    assert texts(notices) == ["orders[0]: no leader", "orders[0]: not authorized"]
    notices.end_trouble(FIRST)
    notices.end_trouble(SECOND)
    clock.advance(SETTLED_NS)
    assert texts(notices) == ["orders[0]: read again"]


def test_a_trouble_that_was_told_in_other_words_has_no_end(
    notices: FetchNotices, clock: ManualClock
) -> None:
    """The topic that was deleted is there again: created anew says it all."""
    notices.begin_trouble(FIRST, NoticeKind.DELETED, "not there")
    notices.forget(FIRST)
    notices.end_trouble(FIRST)
    clock.advance(SETTLED_NS)
    assert texts(notices) == ["orders[0]: not there"]


def test_a_cluster_that_can_be_asked_again_is_no_news(
    notices: FetchNotices, clock: ManualClock
) -> None:
    """What it says is."""
    notices.begin_trouble(None, NoticeKind.DISCONNECTED, "nobody answers")
    notices.end_trouble(None)
    clock.advance(SETTLED_NS)
    assert texts(notices) == ["nobody answers"]
    notices.begin_trouble(None, NoticeKind.DISCONNECTED, "nobody answers")
    assert texts(notices) == ["nobody answers"]


def test_a_leader_that_moves_to_and_fro_is_told_when_it_has_settled(
    notices: FetchNotices, clock: ManualClock
) -> None:
    """The first move at once, then where it went in all."""
    notices.add_move(FIRST, 1, 2)
    notices.add_move(SECOND, 1, 2)
    assert texts(notices) == ["orders[0-1]: the leader is broker 2, was 1"]
    notices.add_move(FIRST, 2, 1)
    notices.add_move(FIRST, 1, 3)
    notices.add_move(SECOND, 2, 1)
    notices.add_move(SECOND, 1, 2)
    clock.advance(S)
    assert texts(notices) == []
    clock.advance(SETTLED_NS)
    assert texts(notices) == ["orders[0]: the leader is broker 3, was 2"]
