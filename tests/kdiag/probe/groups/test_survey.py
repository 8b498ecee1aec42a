import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.groups.model import Group, GroupsReport
from kdiag.errors import UnsupportedVersionError
from kdiag.probe.groups.survey import TIMED_PARTITIONS, SurveyRequest, survey_groups
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.api.list_groups import ListedGroup
from kdiag.wire.api.share_group_describe import DescribedGroup, ShareGroupDescribeResponse
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.group_cluster import GroupCluster, subscription
from scripted_kafka.scripted_broker import CLOSE, HOLD, offering


def filled(cluster: GroupCluster, partitions: int = 2) -> GroupCluster:
    """Give each partition of `orders` three records."""
    for number in range(partitions):
        cluster.add("orders", number, leader=1 + number % 2).append(b"a", b"b", b"c")
    return cluster


def only(report: GroupsReport) -> Group:
    """Return the one group of a report."""
    (group,) = report.groups
    return group


def test_a_group_is_told_with_its_partitions(cluster: GroupCluster, client: ClusterClient) -> None:
    """Those that it committed, and those that its members own or want."""
    filled(cluster, 3).add_group("g", {("orders", 0): 1}, {"m-1": [0, 1]})
    group = only(survey_groups(client, SurveyRequest()))

    assert (group.state, group.type, group.lag) == ("Stable", "classic", 2)
    assert group.coordinator is not None
    assert group.coordinator.node_id == 1
    first, second, third = group.partitions
    assert (first.committed, first.start, first.stable_end, first.end) == (1, 0, 3, 3)
    assert (first.lag, first.is_lag_exact, first.member_id) == (2, True, "m-1")
    assert first.lag_ms is not None
    assert (second.committed, second.lag, second.member_id) == (None, None, "m-1")
    assert (third.committed, third.member_id) == (None, None)


def test_lag_ends_at_the_last_stable_offset_and_begins_where_the_log_does(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """The high watermark is told beside it."""
    filled(cluster, 1).add_group("g", {("orders", 0): 0})
    log = next(iter(cluster.logs.values()))
    log.append(b"d")
    log.append(b"open")
    log.start, log.stable, log.batches = 3, 4, log.batches[1:]
    (partition,) = only(survey_groups(client, SurveyRequest())).partitions
    assert (partition.start, partition.stable_end, partition.end) == (3, 4, 5)
    assert (partition.lag, partition.next_offset) == (1, 3)


def test_the_ends_of_the_epochs_of_commits_are_asked_for(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """Each once, but for those that are the newest, and for commits without one."""
    filled(cluster, 2)
    first, second = cluster.logs.values()
    first.epoch, first.ends, second.epoch = 5, {0: 2, 3: 3, 4: -1}, 5
    for name, epochs in {"a": (0, 5), "b": (3, -1), "c": (0, 5), "d": (4, 5)}.items():
        cluster.add_group(name, {("orders", 0): 3, ("orders", 1): 3})
        for each, epoch in zip(cluster.commits[name].topics[0].partitions, epochs, strict=True):
            each.committed_leader_epoch = epoch
    groups = survey_groups(client, SurveyRequest()).groups
    ends = {each.group: [one.epoch_end for one in each.partitions] for each in groups}
    assert ends == {"a": [2, None], "b": [3, None], "c": [2, None], "d": [-1, None]}
    asked = [each for one in cluster.brokers.values() for each in one.asked("OffsetForLeaderEpoch")]
    assert len(asked) == 3
    first.error = "TOPIC_AUTHORIZATION_FAILED"
    groups = survey_groups(client, SurveyRequest()).groups
    assert {one.epoch_end for each in groups for one in each.partitions} == {None}


def test_a_deleted_topic_has_no_lag(cluster: GroupCluster, client: ClusterClient) -> None:
    """Its commit is told, with why nothing else is."""
    filled(cluster, 1).add_group("g", {("orders", 0): 3, ("gone", 0): 5, ("orders", 9): 1})
    by_name = {str(each): each for each in only(survey_groups(client, SurveyRequest())).partitions}
    for name in ("gone[0]", "orders[9]"):
        assert by_name[name].error == "UNKNOWN_TOPIC_OR_PARTITION"
        assert by_name[name].lag is None
    assert by_name["orders[0]"].lag == 0


def test_a_topic_that_members_want_and_that_is_not_there(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """Its error is that of the metadata; topics that exist have none."""
    told = filled(cluster, 1).add_group("g", {}, {"m-1": [0]})
    told.members[0].member_metadata = subscription("orders", "ordres")
    group = only(survey_groups(client, SurveyRequest()))
    assert group.topic_errors == {"ordres": "UNKNOWN_TOPIC_OR_PARTITION"}


def test_names_and_filters_choose(cluster: GroupCluster, client: ClusterClient) -> None:
    """What is not wanted is not asked about."""
    filled(cluster, 1)
    for name in ("a", "b", "c"):
        cluster.add_group(name, {})
    report = survey_groups(client, SurveyRequest(["b", "d"]))
    assert ([each.group for each in report.groups], report.absent) == (["b"], ["d"])
    assert report.names == ["a", "b", "c"]
    chosen = SurveyRequest(is_wanted=lambda name, _listed: name > "b")
    assert only(survey_groups(client, chosen)).group == "c"
    described = cluster.brokers[1].asked("DescribeGroups")
    assert [each.message().groups for each in described] == [["b"], ["c"]]  # type: ignore[attr-defined]


def test_a_group_of_a_silent_broker_is_unknown(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """It is not absent: nobody knows."""
    cluster.brokers[2].on("ListGroups", CLOSE)
    report = survey_groups(client, SurveyRequest(["nobody"]))
    assert report.absent == []
    assert list(report.failures) == [2]
    group = only(report)
    assert (group.state, group.type, group.error) == (
        "unknown",
        "unknown",
        "no answer from broker 2",
    )


def test_what_one_may_not_see_is_not_absent(cluster: GroupCluster, client: ClusterClient) -> None:
    """Brokers leave it out of their lists; the coordinator's error tells."""
    denied = CODE_BY_NAME["GROUP_AUTHORIZATION_FAILED"]
    refused = Coordinator("secret", error_code=denied)
    cluster.on("FindCoordinator", FindCoordinatorResponse(coordinators=[refused]))
    report = survey_groups(client, SurveyRequest(["secret"]))
    assert report.absent == []
    assert only(report).error == "GROUP_AUTHORIZATION_FAILED"


def test_brokers_that_list_groups_with_members_alone_prove_no_absence(
    cluster: GroupCluster,
) -> None:
    """Before Kafka 0.10.1, a group without members is in no list, though it has commits."""
    cluster.on("ApiVersions", offering(ListOffsets=(0, 0)))
    with cluster.client() as client:
        assert survey_groups(client, SurveyRequest()).groups == []
        with pytest.raises(UnsupportedVersionError, match=r"older than Kafka 0\.10\.1"):
            survey_groups(client, SurveyRequest(["g"]))


def test_a_list_that_may_be_shorter_than_it_is_says_so(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """To those who may not describe the cluster, brokers list some groups."""
    for bits, count in ((1 << 8, 0), (1 << 3, 1), (-(1 << 31), 0)):
        told = DescribeClusterResponse(cluster_authorized_operations=bits)
        cluster.on("DescribeCluster", told)
        assert len(survey_groups(client, SurveyRequest()).unknown) == count


def test_a_leader_that_is_silent_is_asked_once(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """What others lead is told."""
    filled(cluster).add_group("g", {("orders", 0): 1, ("orders", 1): 1})
    cluster.brokers[2].on("ListGroups", HOLD)
    request = SurveyRequest(patience_ns=100_000_000)
    first, second = only(survey_groups(client, request)).partitions
    assert (first.lag, first.error) == (2, None)
    assert (second.lag, second.error) == (None, "broker 2 does not answer")
    assert not cluster.brokers[2].asked("ListOffsets")


def test_a_leader_that_does_not_say_where_logs_end_is_asked_once(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """Three questions would wait three times; what others lead is whole."""
    filled(cluster).add_group("g", {("orders", 0): 1, ("orders", 1): 1})
    cluster.brokers[2].on("ListOffsets", HOLD)
    report = survey_groups(client, SurveyRequest(patience_ns=100_000_000))
    first, second = only(report).partitions
    assert (first.lag, first.is_lag_exact) == (2, True)
    assert second.lag is None
    assert second.error is not None
    assert second.error.endswith("within 0.1 s")
    assert str(only(report).lag_amount) == ">=2"
    assert len(cluster.brokers[2].asked("ListOffsets")) == 1


@pytest.mark.parametrize("api", ["DescribeGroups", "OffsetFetch"])
def test_a_coordinator_that_hangs_is_waited_for_once(
    cluster: GroupCluster, client: ClusterClient, api: str
) -> None:
    """Whichever question it does not answer, the survey goes on to the next broker."""
    filled(cluster).add_group("g", {("orders", 1): 1})
    cluster.brokers[1].on(api, HOLD)
    began_ns = client.clock.monotonic_ns()
    group = only(survey_groups(client, SurveyRequest(patience_ns=200_000_000)))
    assert client.clock.monotonic_ns() - began_ns < 2_000_000_000
    assert group.error is not None
    assert group.error.endswith("within 0.2 s")
    assert str(group.lag_amount) == "?"
    assert len(cluster.brokers[1].asked("OffsetFetch")) == (api == "OffsetFetch")


@pytest.mark.thorough
def test_a_question_to_any_broker_goes_to_a_second_one(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """Metadata, and whether all groups are listed; only where all hang it is not known."""
    filled(cluster).add_group("g", {("orders", 0): 1})
    for api in ("Metadata", "DescribeCluster"):
        cluster.brokers[2].on(api, HOLD)
    report = survey_groups(client, SurveyRequest(patience_ns=1_000_000_000))
    assert (only(report).lag, report.unknown) == (2, [])
    cluster.on("DescribeCluster", HOLD)
    report = survey_groups(client, SurveyRequest(patience_ns=300_000_000))
    assert report.unknown[0].startswith("whether all groups are listed is not known: ")


def test_what_is_known_is_told_when_time_is_up(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """Members without lag are better than nothing."""
    filled(cluster).add_group("g", {("orders", 0): 1}, {"m-1": [0]})
    cluster.on("Metadata", CLOSE)
    report = survey_groups(client, SurveyRequest())
    assert len(only(report).members or ()) == 1
    assert str(only(report).lag_amount) == "?"
    assert report.unknown[-1].startswith("the lag of orders[0] in group g is not known: ")


def test_times_are_read_where_they_are_wanted(cluster: GroupCluster, client: ClusterClient) -> None:
    """Without, a lag is a difference of offsets, and says so."""
    filled(cluster, 1).add_group("g", {("orders", 0): 1})
    (partition,) = only(survey_groups(client, SurveyRequest(has_times=False))).partitions
    assert (partition.lag, partition.is_lag_exact, partition.lag_ms) == (2, False, None)
    assert not cluster.brokers[1].asked("Fetch")


def test_what_cannot_be_read_is_a_warning(cluster: GroupCluster, client: ClusterClient) -> None:
    """The difference of offsets stays."""
    filled(cluster, 1).add_group("g", {("orders", 0): 1})
    log = next(iter(cluster.logs.values()))
    log.batches = [(0, 3, b"\xff" * 80)]
    report = survey_groups(client, SurveyRequest())
    (partition,) = only(report).partitions
    assert (partition.lag, partition.is_lag_exact) == (2, False)
    (warning,) = report.warnings
    assert warning.startswith("the age of orders[0] in group g is not known: ")


def test_the_lag_of_a_share_group_is_its_coordinators(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """Records in the middle may be done already."""
    filled(cluster, 1)
    cluster.listed["s"] = ListedGroup("s", "share", "Empty", "Share")
    described = ShareGroupDescribeResponse(
        groups=[DescribedGroup(group_id="s", group_state="Empty")]
    )
    cluster.on("ShareGroupDescribe", described)
    part = DescribeShareGroupOffsetsResponsePartition(0, start_offset=0, lag=1)
    topic = DescribeShareGroupOffsetsResponseTopic("orders", partitions=[part])
    answer = DescribeShareGroupOffsetsResponseGroup("s", [topic])
    cluster.on("DescribeShareGroupOffsets", DescribeShareGroupOffsetsResponse(groups=[answer]))
    for has_times in (False, True):
        request = SurveyRequest(has_times=has_times)
        (partition,) = only(survey_groups(client, request)).partitions
        assert (partition.committed, partition.lag) == (0, 1)
        assert (partition.lag_ms is not None) is has_times


@pytest.mark.thorough
def test_many_groups_are_asked_about_in_parts(cluster: GroupCluster, client: ClusterClient) -> None:
    """Each is handed over once all is known of it, so that its members need not be kept."""
    filled(cluster, 1)
    names = [f"g-{number:03}" for number in range(501)]
    for name in names:
        cluster.add_group(name, {("orders", 0): 1}, {f"m-of-{name}": [0]})
    whole: list[tuple[str, int, float | None]] = []

    def settle(group: Group) -> None:
        whole.append((group.group, len(group.members or ()), group.lag_ms))
        group.condense()

    report = survey_groups(client, SurveyRequest(settle=settle))
    assert sorted(each[:2] for each in whole) == [(name, 1) for name in names]
    assert all(lag_ms is not None for _, _, lag_ms in whole)
    assert [each.group for each in report.groups] == names
    assert {each.lag for each in report.groups} == {2}
    assert {each.member_count for each in report.groups} == {1}
    assert not any(each.members or each.partitions for each in report.groups)


@pytest.mark.thorough
def test_of_too_many_partitions_the_ages_of_the_worst_are_read(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """That is a limit, no failure; what was read is not lost to what came later."""
    log = cluster.add("orders", 0)
    log.append(b"a", b"b", b"c")
    for number in range(TIMED_PARTITIONS + 1):
        is_worse = number % 2 == 0
        cluster.add_group(f"g-{number:04}", {("orders", 0): 0 if is_worse else 1})
    settled: list[str] = []
    report = survey_groups(client, SurveyRequest(settle=lambda each: settled.append(each.group)))
    blank = [each.group for each in report.groups if each.lag_ms is None]
    (last,) = blank
    assert last == f"g-{TIMED_PARTITIONS - 1:04}"
    assert sorted(settled) == [each.group for each in report.groups]
    by_name = {each.group: each for each in report.groups}
    assert str(by_name[last].lag_amount) == "~2"
    assert (str(by_name[last].age_amount), str(by_name["g-0000"].lag_amount)) == ("?", "3")
    assert (report.warnings, report.unknown) == ([], [])
    (limit,) = report.limits
    assert limit.endswith("1,000 partitions with the most lag, of 1,001; --times reads all")


def test_ages_that_cannot_be_read_are_one_warning(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """However many partitions there are, each by its name."""
    filled(cluster, 4).add_group("g", {("orders", number): 1 for number in range(4)})
    for log in cluster.logs.values():
        log.batches = [(0, 3, b"\xff" * 80)]
    (warning,) = survey_groups(client, SurveyRequest()).warnings
    assert warning.startswith(
        "the age of orders[0], orders[1], orders[2], orders[3] in group g is not known: "
    )
