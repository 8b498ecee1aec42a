"""A member that reads what its group gives it."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.offset_reset import ResetPolicy
from kdiag.client.fetch.position import NoticeKind, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.client.group import coordinator_lookup
from kdiag.client.group.assignor.range import RangeAssignor
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.member import (
    ConsumerMember,
    MemberSettings,
    RebalanceListener,
    TopicSubscription,
)
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import ConfigError
from kdiag.probe.tail import group_tail as group_tail_module
from kdiag.probe.tail.group_tail import GroupTail, GroupTailRequest, subscription_to
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.topic_selection import parse_selector
from kdiag.wire.api.describe_transactions import TopicData, TransactionState
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatResponse
from kdiag.wire.api.join_group import JoinGroupResponse
from kdiag.wire.api.offset_fetch import OffsetFetchResponse, OffsetFetchResponseGroup
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import Struct
from scripted_kafka.joinable_cluster import JOINED, JoinableCluster

SETTINGS = MemberSettings(
    JOINED, heartbeat_interval_ns=20 * NS_PER_MS, retry_backoff_ns=NS_PER_MS, jitter=0.0
)


@pytest.fixture
def cluster() -> Iterator[JoinableCluster]:
    """A broker; orders has two partitions with three records each."""
    with JoinableCluster() as cluster:
        for number in range(2):
            cluster.add("orders", number).append(b"a", b"b", b"c")
        cluster.give([0, 1])
        yield cluster


class Reader:
    """A user of a tail, who prints all that it hands out."""

    def __init__(
        self,
        client: ClusterClient,
        *,
        ends: bool = False,
        start: At | None = At.BEGINNING,
        **more: Any,
    ) -> None:
        limits = FetchLimits(max_wait_ms=10)
        offsets = OffsetSpec(None if start is None else Position(start))
        tail = TailRequest([parse_selector("orders")], offsets, ends, limits)
        request = GroupTailRequest(tail, JOINED)._replace(**more)
        self.printed: dict[PartitionKey, int] = {}
        self.values: list[bytes] = []
        self.notices: list[tuple[NoticeKind, str]] = []
        self.clock = client.clock

        def member(topics: TopicSubscription, listener: RebalanceListener) -> ConsumerMember:
            return ConsumerCoordinator(client, SETTINGS, topics, [RangeAssignor()], listener)

        self.tail = GroupTail(client, request, member, self.printed)

    def read(self, is_enough: Callable[[], bool]) -> None:
        """Read until it is enough."""
        until_ns = self.clock.monotonic_ns() + 30 * NS_PER_S
        while not is_enough():
            assert self.clock.monotonic_ns() < until_ns, (self.values, self.notices)
            for fetched in self.tail.poll(self.clock.monotonic_ns() + 20 * NS_PER_MS):
                self.values += [each.value or b"" for each in fetched.batch.records()]
                self.printed[fetched.key] = fetched.batch.last_offset + 1
            self.notices += [(each.kind, each.text) for each in self.tail.take_notices()]

    def told(self, kind: NoticeKind) -> list[str]:
        """Return the notices of a kind."""
        return [text for each, text in self.notices if each is kind]

    def close(self) -> None:
        """Leave the group."""
        self.tail.close(self.clock.monotonic_ns() + 5 * NS_PER_S)
        self.notices += [(each.kind, each.text) for each in self.tail.take_notices()]


@pytest.fixture
def client(cluster: JoinableCluster) -> Iterator[ClusterClient]:
    """A client of the cluster."""
    with cluster.client() as client:
        yield client


def test_it_reads_from_the_commits_to_the_end(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """Where there is none from the usual start; and commits nothing, as that was not asked for."""
    cluster.committed = {0: 1}
    reader = Reader(client, ends=True)
    reader.read(lambda: reader.tail.is_done)
    reader.close()
    assert sorted(reader.values) == [b"a", b"a", b"b", b"b", b"c", b"c"]  # batches as they are
    (given,) = reader.told(NoticeKind.GIVEN)
    assert given.startswith("group billing, generation 1: given orders[0@1] from its commits and")
    assert given.endswith("orders[1@0] without a commit")
    assert (cluster.committed, cluster.left_count) == ({0: 1}, 1)


SKIPPED = (
    "group billing, generation 1: no commits: starting at the end of 2 partitions; "
    "--from-beginning reads the 6 records there"
)


@pytest.mark.parametrize(
    ("reading", "committed", "said"),
    [
        ({"start": None}, {}, [SKIPPED]),
        ({"start": At.END}, {}, []),
        ({"start": None, "ends": True}, {}, []),
        ({"start": None}, {0: 1, 1: 1}, []),
    ],
)
def test_a_start_at_the_end_is_said_where_the_user_did_not_ask_for_it(
    cluster: JoinableCluster,
    client: ClusterClient,
    reading: dict[str, Any],
    committed: dict[int, int],
    said: list[str],
) -> None:
    """With the number of records that are skipped, and the option that reads them."""
    cluster.committed = committed
    reader = Reader(client, **reading)
    reader.read(lambda: bool(reader.told(NoticeKind.GIVEN)))
    reader.close()
    assert reader.told(NoticeKind.GIVEN)[1:] == said


def test_it_commits_while_it_reads(cluster: JoinableCluster, client: ClusterClient) -> None:
    """As often as it shall."""
    reader = Reader(client, commits=True, commit_interval_ns=NS_PER_MS)
    reader.read(lambda: len(reader.values) == 6)
    reader.read(lambda: cluster.committed == {0: 3, 1: 3})
    assert reader.told(NoticeKind.NOT_COMMITTED) == []
    reader.close()


def test_answers_without_records_are_not_committed(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """The group has read nothing, however often a slow store answers so."""
    for log in cluster.logs.values():
        log.empty_answers = 10**6
    reader = Reader(client, ends=True, commits=True, commit_interval_ns=20 * NS_PER_MS)
    reader.read(lambda: len(cluster.brokers[1].asked("Fetch")) > 8)
    reader.close()
    assert not reader.tail.is_done
    assert not any(cluster.committed.values())


@pytest.mark.parametrize("interval_ns", [3600 * NS_PER_S, None])
def test_where_a_member_starts_is_committed_at_once(
    cluster: JoinableCluster, client: ClusterClient, interval_ns: int | None
) -> None:
    """Else the next run of `-o end` would begin at a later end, and lose what came meanwhile."""
    cluster.give([0])
    reader = Reader(client, commits=True, commit_interval_ns=interval_ns, start=At.END)
    reader.read(lambda: cluster.committed == {0: 3})
    assert reader.values == []
    reader.close()


def test_where_a_member_starts_is_not_committed_unasked(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """A member without --commit leaves the offsets of its group alone."""
    reader = Reader(client, start=At.END)
    reader.read(lambda: len(reader.tail.positions) == 2)
    reader.close()
    assert cluster.committed == {}


@pytest.mark.thorough
def test_a_first_commit_that_is_refused_for_now_delays_nothing(
    cluster: JoinableCluster, client: ClusterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made with the next one, without a word."""
    monkeypatch.setattr(group_tail_module, "RETRY_NS", 20 * NS_PER_MS)
    cluster.refusal = "COORDINATOR_LOAD_IN_PROGRESS"
    reader = Reader(client, commits=True, commit_interval_ns=NS_PER_S)
    reader.read(lambda: bool(reader.values))
    cluster.refusal = "NONE"
    reader.read(lambda: cluster.committed == {0: 3, 1: 3})
    assert reader.told(NoticeKind.NOT_COMMITTED) == []
    reader.close()


def test_records_that_were_cut_from_the_log_after_their_commit_are_reported(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """KIP-320: the log of the new leader parts from what the group has read, at offset 1."""
    cluster.give([0])
    log = cluster.logs[PartitionKey("orders", 0)]
    log.epoch, log.diverging = 5, 1
    cluster.committed, cluster.epochs = {0: 3}, {0: 4}
    log.append(b"d")
    reader = Reader(client, ends=True, commits=True)
    reader.read(lambda: reader.tail.is_done)
    reader.close()
    (text,) = reader.told(NoticeKind.TRUNCATED)
    assert "the log was truncated: offsets 1 to 2, which were read, are not in it" in text
    assert reader.values == [b"a", b"b", b"c", b"d"]
    assert "orders[0@1] instead of its commits" in reader.told(NoticeKind.GIVEN)[0]
    assert cluster.committed == {0: 4}


def test_a_commit_whose_history_is_that_of_the_log_is_read_from(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """Its epoch ended behind it, or the group has committed no epoch."""
    for epochs in ({0: 4, 1: 4}, {}):
        for log in cluster.logs.values():
            log.epoch = 5
        cluster.committed, cluster.epochs = {0: 1, 1: 1}, dict(epochs)
        reader = Reader(client, ends=True)
        reader.read(lambda: reader.tail.is_done)  # noqa: B023 - called within the round
        reader.close()
        assert reader.told(NoticeKind.TRUNCATED) == []
        assert "orders[0@1,1@1] from its commits" in reader.told(NoticeKind.GIVEN)[0]


@pytest.mark.parametrize(
    ("reset", "offset"),
    [
        (None, 2),
        (ResetPolicy("earliest"), 0),
        (ResetPolicy("latest"), 3),
        (ResetPolicy("none"), None),
    ],
)
@pytest.mark.parametrize("undefined", ["epoch", "offset"])
def test_a_commit_whose_epoch_the_log_does_not_know_is_a_matter_of_the_policy(
    cluster: JoinableCluster,
    client: ClusterClient,
    reset: ResetPolicy | None,
    offset: int | None,
    undefined: str,
) -> None:
    """Without one it is read on where the group has committed."""
    cluster.give([0])
    log = cluster.logs[PartitionKey("orders", 0)]
    log.epoch, log.diverging = 5, 1 if undefined == "epoch" else -1
    log.is_epoch_undefined = undefined == "epoch"
    cluster.committed, cluster.epochs = {0: 2}, {0: 4}
    log.empty_answers = 10**6
    reader = Reader(client, reset=reset)
    key = PartitionKey("orders", 0)
    if offset is None:
        with pytest.raises(ConfigError, match=r"orders\[0\]: .*epoch 4"):
            reader.read(lambda: False)
        reader.close()
        return
    reader.read(
        lambda: key in reader.tail.positions and reader.tail.positions[key].offset == offset
    )
    reader.close()
    assert len(reader.told(NoticeKind.TRUNCATED)) == (reset is not None)


def test_a_log_that_was_cut_may_be_an_error(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """With auto.offset.reset=none, as Kafka's LogTruncationException."""
    log = cluster.logs[PartitionKey("orders", 0)]
    log.epoch, log.diverging = 5, 1
    cluster.committed, cluster.epochs = {0: 3, 1: 0}, {0: 4}
    reader = Reader(client, reset=ResetPolicy("none"))
    with pytest.raises(ConfigError, match=r"orders\[0\]: the log was truncated: offsets 1 to 2"):
        reader.read(lambda: False)
    reader.close()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("api", "answer"),
    [
        (
            "FindCoordinator",
            FindCoordinatorResponse(coordinators=[Coordinator(JOINED, error_code=2)]),
        ),
        ("Heartbeat", HeartbeatResponse(error_code=2)),
        ("JoinGroup", JoinGroupResponse(error_code=14)),
        (
            "OffsetFetch",
            OffsetFetchResponse(groups=[OffsetFetchResponseGroup(JOINED, error_code=14)]),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_coordinator_answers_again_and_again_is_named(
    cluster: JoinableCluster,
    client: ClusterClient,
    monkeypatch: pytest.MonkeyPatch,
    api: str,
    answer: Struct,
) -> None:
    """It ends nothing, as it may pass; and it says nothing about leaders."""
    monkeypatch.setattr(coordinator_lookup, "LASTING_NS", 20 * NS_PER_MS)
    monkeypatch.setattr(group_tail_module, "_COMMITS_NS", 100 * NS_PER_MS)
    before = cluster.brokers[1]._replies[api]
    cluster.on(api, answer)
    reader = Reader(client)
    reader.read(lambda: bool(reader.told(NoticeKind.REFUSED)))
    (text,) = reader.told(NoticeKind.REFUSED)
    assert f"(answer to {api})" in text or "its last answer" in text
    assert "CORRUPT_MESSAGE" in text or "COORDINATOR_LOAD_IN_PROGRESS" in text
    assert reader.told(NoticeKind.DISCONNECTED) == []
    cluster.on(api, before)
    reader.read(lambda: len(reader.values) == 6)
    reader.close()


def test_a_rebalance_and_a_single_refusal_are_not_reported(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """The one is usual, and the other is over with the next answer."""
    reader = Reader(client)
    reader.read(lambda: len(reader.values) == 6)
    expelled = HeartbeatResponse(error_code=CODE_BY_NAME["UNKNOWN_MEMBER_ID"])
    rebalancing = HeartbeatResponse(error_code=CODE_BY_NAME["REBALANCE_IN_PROGRESS"])
    for answer in (expelled, rebalancing):
        joins = len(cluster.joins)
        cluster.on("Heartbeat", answer)
        reader.read(lambda: len(cluster.joins) > joins)  # noqa: B023 - called within the round
        cluster.on("Heartbeat", HeartbeatResponse())
    reader.close()
    assert reader.told(NoticeKind.REFUSED) == []


def test_what_is_taken_is_committed_and_given_away(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """What was not printed is not committed."""
    reader = Reader(client, commits=True, commit_interval_ns=3600 * NS_PER_S)
    reader.read(lambda: len(reader.values) == 6)
    reader.printed[PartitionKey("orders", 1)] = 2
    cluster.give([])
    reader.read(lambda: bool(reader.told(NoticeKind.TAKEN)))
    assert cluster.committed == {0: 3, 1: 2}
    assert (reader.printed, dict(reader.tail.positions)) == ({}, {})
    assert reader.told(NoticeKind.TAKEN) == ["group billing, generation 1: taken orders[0@3,1@2]"]
    reader.read(
        lambda: (
            "group billing, generation 2: given no partition"
            in dict.fromkeys(reader.told(NoticeKind.GIVEN))
        )
    )
    reader.close()


def test_what_is_lost_is_not_committed(cluster: JoinableCluster, client: ClusterClient) -> None:
    """Others may own it already; they begin where the group has committed."""
    reader = Reader(client, commits=True, commit_interval_ns=3600 * NS_PER_S)
    reader.read(lambda: len(reader.values) == 6)
    expelled = HeartbeatResponse(error_code=CODE_BY_NAME["UNKNOWN_MEMBER_ID"])
    cluster.on("Heartbeat", expelled)
    reader.read(lambda: bool(reader.told(NoticeKind.LOST)))
    cluster.on("Heartbeat", HeartbeatResponse())
    (lost,) = set(reader.told(NoticeKind.LOST))
    assert lost.endswith(
        "lost orders[0@3,1@3], with no commit: the coordinator has given this member up"
    )
    assert cluster.committed == {0: 0, 1: 0}
    reader.read(lambda: len(reader.values) == 12)
    reader.close()
    assert cluster.committed == {0: 3, 1: 3}


def test_a_reader_that_is_too_slow_is_told_so(client: ClusterClient) -> None:
    """It was not polled for longer than the group waits."""
    reader = Reader(client, max_poll_interval_ns=NS_PER_S)
    reader.read(lambda: len(reader.values) == 6)
    reader.tail._polled_ns -= 7 * NS_PER_S
    reader.tail.on_partitions_lost([PartitionKey("orders", 0)])
    reader.read(lambda: bool(reader.told(NoticeKind.LOST)))
    assert (
        "nothing was read for 7 s, longer than max.poll.interval.ms"
        in (reader.told(NoticeKind.LOST)[0])
    )
    reader.close()


def test_a_last_commit_that_is_refused_is_told(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """Whether it may be repeated or not, there is no other time; and the member leaves."""
    for number, error in enumerate(("GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"), 1):
        cluster.refusal = "NONE"
        reader = Reader(client, ends=True, commits=True)
        reader.read(lambda: reader.tail.is_done)  # noqa: B023 - called within the round
        cluster.refusal = error
        reader.close()
        (told,) = reader.told(NoticeKind.NOT_COMMITTED)
        assert told.startswith("not committed: orders[0@3,1@3]: "), error
        assert reader.tail.is_partial, error
        assert cluster.left_count == number, error


def test_who_forgoes_commits_leaves_without_one(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """As a reader that has gone cannot say what it did with the last records."""
    reader = Reader(client, ends=True, commits=True)
    reader.read(lambda: reader.tail.is_done)
    reader.tail.forgo_commits()
    reader.close()
    assert (cluster.committed, cluster.left_count) == ({0: 0, 1: 0}, 1)


def test_a_member_without_partitions_waits_a_moment_before_it_ends(
    cluster: JoinableCluster, client: ClusterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may be about to give up what is meant for it."""
    cluster.give([])
    reader = Reader(client, ends=True)
    reader.read(lambda: bool(reader.told(NoticeKind.GIVEN)))
    assert not reader.tail.is_done
    monkeypatch.setattr(group_tail_module, "EMPTY_NS", 0)
    reader.read(lambda: reader.tail.is_done)
    reader.close()


def test_a_partition_without_a_commit_may_be_an_error(client: ClusterClient) -> None:
    """With auto.offset.reset=none."""
    reader = Reader(client, requires_commits=True)
    with pytest.raises(ConfigError, match=r"it is none, and orders\[[01]\] has no commit"):
        reader.read(lambda: False)
    reader.close()


RESETS = {
    "earliest": ResetPolicy("earliest"),
    "latest": ResetPolicy("latest"),
    "by_duration": ResetPolicy("by_duration:PT1H", 3_600_000),
}


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize(
    ("reset", "commit", "values"),
    [
        ("earliest", 9, [b"b", b"c"]),
        ("earliest", 0, [b"b", b"c"]),
        ("latest", 9, []),
        ("latest", 0, []),
        ("by_duration", 9, [b"c"]),
        ("by_duration", 0, [b"c"]),
        ("latest", 2, [b"c"]),
        ("earliest", 2, [b"c"]),
    ],
)
def test_a_commit_that_is_not_in_its_log_is_reset_as_the_policy_says(  # noqa: PLR0913 - a table
    cluster: JoinableCluster,
    client: ClusterClient,
    *,
    reset: str,
    commit: int,
    values: list[bytes],
    ends: bool,
) -> None:
    """The log has offsets 1 to 3: a commit of 2 needs no policy."""
    now_ms = client.clock.epoch_ns() // NS_PER_MS
    log = cluster.add("orders", 0)
    for value, age_ms in ((b"a", 9_000_000), (b"b", 8_000_000), (b"c", 60_000)):
        log.append(value, timestamp=now_ms - age_ms)
    log.start = 1
    cluster.give([0])
    cluster.committed = {0: commit}
    reader = Reader(client, ends=ends, reset=RESETS[reset])
    key = PartitionKey("orders", 0)
    reader.read(lambda: key in reader.tail.positions and reader.tail.positions[key].offset == 3)
    reader.close()
    texts = [*reader.told(NoticeKind.REMOVED), *reader.told(NoticeKind.TRUNCATED)]
    assert reader.values == values
    assert len(texts) == (commit != 2)
    assert all(f"the log has offsets 1 to 3, and no {commit}: reading on at" in t for t in texts)


@pytest.mark.parametrize("ends", [False, True])
def test_a_commit_that_is_not_in_its_log_may_be_an_error(
    cluster: JoinableCluster, client: ClusterClient, *, ends: bool
) -> None:
    """With auto.offset.reset=none, whether it is to end or not."""
    cluster.committed = {0: 5000, 1: 0}
    reader = Reader(client, ends=ends, reset=ResetPolicy("none"))
    why = r"it is none, and orders\[0\]: the log has offsets 0 to 3, and no 5000"
    with pytest.raises(ConfigError, match=why):
        reader.read(lambda: False)
    reader.close()


def test_a_commit_behind_an_open_transaction_is_in_its_log(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """A reader of uncommitted records made it: it waits for the transaction, and is not reset."""
    for log in cluster.logs.values():
        log.stable = 1
    cluster.committed = {0: 2, 1: 2}
    reader = Reader(client, reset=ResetPolicy("earliest"))
    reader.read(lambda: len(reader.tail.positions) == 2)
    reader.close()
    assert {each.offset for each in reader.tail.positions.values()} <= {2}
    assert reader.told(NoticeKind.TRUNCATED) == []


def test_retention_that_overtakes_a_member_is_a_matter_of_the_policy(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """As it is of Kafka's consumers: `latest` goes to the end, and says so."""
    cluster.give([0])
    log = cluster.logs[PartitionKey("orders", 0)]
    log.empty_answers = 10**6
    reader = Reader(client, reset=ResetPolicy("latest"))
    reader.read(lambda: len(reader.tail.positions) == 1)
    log.start = 2
    reader.read(lambda: bool(reader.told(NoticeKind.REMOVED)))
    reader.close()
    assert (
        "the log has offsets 2 to 3, and no 0: reading on at 3"
        in reader.told(NoticeKind.REMOVED)[0]
    )


def test_a_partition_without_a_leader_is_placed_once_it_has_one(
    cluster: JoinableCluster, client: ClusterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are read meanwhile."""
    monkeypatch.setattr(group_tail_module, "RETRY_NS", 0)
    second = cluster.logs[PartitionKey("orders", 1)]
    second.leader = -1
    reader = Reader(client)
    reader.read(lambda: len(reader.values) == 3)
    second.leader = 1
    reader.read(lambda: len(reader.values) == 6)
    assert reader.told(NoticeKind.NO_LEADER) == ["orders[1]: no leader that answers"]
    reader.close()


def test_a_subscription_is_a_list_or_one_pattern() -> None:
    """That Python and RE2 read alike."""
    plain = subscription_to([parse_selector("orders"), parse_selector("clicks")])
    assert plain == TopicSubscription.of("orders", "clicks")
    mixed = subscription_to([parse_selector("or.d*"), parse_selector("c?[!a-c][x]")])
    assert mixed.pattern == r"or\.d.*|c.[^a-c][x]"
    assert re.fullmatch(mixed.pattern, "or.ders")
    assert not re.fullmatch(mixed.pattern, "orders")


@pytest.mark.thorough
def test_offsets_in_an_open_transaction_are_waited_for_by_name(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """It is said once which transaction that is; no word of leaders. Then it begins there."""
    cluster.committed, cluster.unstable = {0: 1, 1: 1}, {1}
    cluster.add("__consumer_offsets", 0)
    places = [TopicData("__consumer_offsets", [0])]
    cluster.hold_offsets(TransactionState(0, "tx", "Ongoing", 60_000, 500, 7, 2, places))
    reader = Reader(client, ends=True)
    reader.read(lambda: bool(reader.notices))
    until_ns = client.clock.monotonic_ns() + NS_PER_S
    reader.read(lambda: client.clock.monotonic_ns() > until_ns)
    (kind, text) = reader.notices[0]
    assert kind is NoticeKind.HELD_BACK
    told = "group billing: its offset of orders[1] is in transaction tx (producer 7), open for "
    assert text.startswith(told)
    assert text.endswith(" s; reading waits for its end")
    assert len(reader.notices) == 1
    cluster.unstable, cluster.committed = set(), {0: 1, 1: 2}
    reader.read(lambda: reader.tail.is_done)
    (given,) = reader.told(NoticeKind.GIVEN)
    assert given.endswith("given orders[0@1,1@2] from its commits")
    reader.close()
