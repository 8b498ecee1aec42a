from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kdiag.diagnosis.check.cluster import judge_partitions, judge_quorum
from kdiag.diagnosis.check.disks import LogDir
from kdiag.diagnosis.check.facts import CheckedEndpoint, TierRead, TopicTier
from kdiag.diagnosis.check.report import CheckPart, CheckStage, CheckStatus
from kdiag.errors import ConnectError, Fault, Layer
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsResponse
from kdiag.wire.api.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from kdiag.wire.api.describe_quorum import (
    DescribeQuorumResponse,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from kdiag.wire.api.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.error_code import CODE_BY_NAME
from made_values.check_subject import endpoint, facts, metadata, visit


def partition(
    leader: int = 1,
    replicas: Sequence[int] = (1, 2, 3),
    isr: Sequence[int] = (1, 2, 3),
    offline: Sequence[int] = (),
) -> MetadataResponsePartition:
    """Return a partition, by default one that is well."""
    return MetadataResponsePartition(
        leader_id=leader,
        replica_nodes=list(replicas),
        isr_nodes=list(isr),
        offline_replicas=list(offline),
    )


def judged(topics: Mapping[str, MetadataResponsePartition], **more: Any) -> CheckPart:
    """Return what is said of topics with one partition each, on brokers 1 to 3."""
    known = MetadataResponse(
        topics=[MetadataResponseTopic(name=name, partitions=[one]) for name, one in topics.items()]
    )
    more = {"metadata": metadata(1, 2, 3), "topics": known, **more}
    return judge_partitions(facts(**more))


def ids(part: CheckPart) -> list[str]:
    """Return the ids of the findings."""
    return [each.id for each in part.findings]


def test_partitions_that_are_well_are_counted() -> None:
    """In one row for all of them."""
    part = judged({"orders": partition(), "payments": partition()}, took_ns={"topics": 5})

    (row,) = part.rows
    assert (row.status, row.took_ns) == (CheckStatus.OK, 5)
    assert row.detail == "2 partitions of 2 topics: all led and in sync"
    assert row.facts["partitions"] == 2
    assert part.findings == []


@pytest.mark.parametrize(
    ("local", "error", "reads"),
    [
        (TierRead(took_ms=1.25), None, "a read there took 4,000.0 ms, a local one took 1.2 ms"),
        (None, "no record came", "a read there failed after 4,000.0 ms (no record came)"),
    ],
)
def test_how_far_back_a_topic_is_local_is_said(
    local: TierRead | None, error: str | None, reads: str
) -> None:
    """With what a read from remote storage took."""
    tier = TopicTier(
        topic="orders",
        partition_count=3,
        remote_count=2,
        remote_offsets=9_990,
        offsets=20_000,
        remote_read=TierRead(took_ms=4_000, error=error),
        local_read=local,
    )
    row = judged({"orders": partition()}, tiers=[tier]).rows[1]
    assert (row.target, row.status) == ("topic orders", "info" if error else "ok")
    many = "9,990 of 20,000 offsets are in remote storage alone, in 2 of 3 partitions"
    assert row.detail == f"{many}; {reads}"
    assert row.facts["remote_read"] == {"took_ms": 4_000, "error": error}


def test_topics_that_one_may_not_see_are_said() -> None:
    """What is well is so of the others alone."""
    part = judged({"orders": partition()}, unseen_topics="brokers list only some")
    assert part.rows[0].detail == "1 partition of 1 topic that you may see: all led and in sync"
    assert part.warnings == ["brokers list only some"]


def test_a_cluster_without_topics_is_told_as_that() -> None:
    """Or of one whose topics the user may not see."""
    assert judged({}).rows[0].detail == "no topic that the user may see"


def test_a_partition_without_leader_is_an_error() -> None:
    """The brokers that can bring it back are named."""
    part = judged({"orders": partition(-1, isr=[3])}, metadata=metadata(1, 2))

    assert ids(part) == ["KD2007", "KD2001"]
    assert part.findings[1].title == "partitions without a leader (1): orders[0]"
    assert part.findings[1].fix == "Start broker 3: the last copies are there."
    assert part.rows[0].status is CheckStatus.ERROR
    assert part.rows[0].detail == (
        "1 partition of 1 topic: 1 without a leader, 1 with replicas out of sync"
    )


def test_no_fix_starts_a_broker_that_runs() -> None:
    """Where its disk failed, that is to be mended; it is told once, with the directory."""
    topics = {"orders": partition(-1, replicas=[1], isr=[1], offline=[1])}
    part = judged(topics)
    assert ids(part) == ["KD2006", "KD2001"]
    assert part.findings[1].fix == (
        "See the log of broker 1, which runs, for a log directory that failed: "
        "the last copies are there."
    )
    part = judged(topics, log_dirs=[LogDir(1, "/data", 56), LogDir(1, "/more", 0)])
    assert ids(part) == ["KD2010", "KD2001"]
    assert part.findings[1].fix == (
        "Mend the disk of /data on broker 1, and restart that broker: the last copies are there."
    )


def test_replicas_out_of_sync_are_worse_below_the_minimum() -> None:
    """Each partition is told once, where it is worst."""
    lagging = {"a": partition(isr=[1]), "b": partition(isr=[1, 2])}

    assert ids(judged(lagging)) == ["KD2003"]
    part = judged(lagging, min_isr={"a": 2, "b": 2})
    assert ids(part) == ["KD2002", "KD2003"]
    assert part.findings[0].title == (
        "partitions with fewer replicas in sync than min.insync.replicas: "
        "a[0] (1 in sync, 2 required)"
    )
    assert part.findings[1].evidence == {
        "count": 1,
        "partitions": "b[0]",
        "missing": "broker 3",
    }
    assert part.findings[0].evidence["missing"] == "brokers 2, 3"
    assert part.rows[0].facts["under_min_isr"] == 1


def test_another_leader_than_the_preferred_one_is_a_note() -> None:
    """Unless the preferred one could not lead anyway."""
    assert ids(judged({"a": partition(leader=2)})) == ["KD2004"]
    assert ids(judged({"a": partition(leader=2, isr=[2, 3])})) == ["KD2003"]


def test_brokers_that_are_not_alive_are_found_by_what_they_hold() -> None:
    """Or by the cluster's own list of those that are fenced."""
    fenced = DescribeClusterResponse(brokers=[DescribeClusterBroker(9, is_fenced=True)])
    part = judged({"a": partition(replicas=[1, 7])}, cluster=fenced)

    dead = [each.evidence["node_id"] for each in part.findings if each.id == "KD2007"]
    assert dead == [7, 9]


def test_a_living_broker_with_replicas_offline_has_lost_a_disk() -> None:
    """The others are offline because their broker is."""
    part = judged({"a": partition(isr=[1, 2], offline=[3])})

    assert ids(part) == ["KD2006", "KD2003"]
    assert part.findings[0].title.startswith("broker 3 is alive, but 1 of its replicas")


def test_only_the_topics_that_were_asked_for_count() -> None:
    """Those with an error of their own are told elsewhere."""
    wanted = MetadataResponse(
        topics=[
            MetadataResponseTopic(name="b", partitions=[partition()]),
            MetadataResponseTopic(error_code=3, name="c"),
        ]
    )
    part = judged({"a": partition(-1), "b": partition()}, wanted=wanted)

    assert part.findings == []
    assert part.rows[0].detail == "1 partition of 1 topic: all led and in sync"


def test_topics_that_nobody_told_of_are_skipped() -> None:
    """With the reason."""
    part = judge_partitions(facts(failures={"topics": "no answer in time"}))

    assert (part.rows[0].status, part.rows[0].detail) == (CheckStatus.SKIPPED, "no answer in time")
    assert part.is_partial
    assert part.warnings == ["the topics are not known: no answer in time"]


def quorum(leader: int = 2, error: str = "") -> DescribeQuorumResponse:
    """Return what a quorum of three says."""
    partition = ResponsePartitionData(
        error_code=CODE_BY_NAME[error] if error else 0,
        leader_id=leader,
        current_voters=[ReplicaState(number) for number in (3, 1, 2)],
    )
    return DescribeQuorumResponse(topics=[ResponseTopicData("__cluster_metadata", [partition])])


def test_the_controller_that_leads_is_told_with_its_voters() -> None:
    """Metadata names any broker instead."""
    part = judge_quorum(facts(quorum=quorum(), took_ns={"quorum": 7}))

    (row,) = part.rows
    assert (row.stage, row.status, row.target) == (
        CheckStage.METADATA,
        CheckStatus.OK,
        "controllers",
    )
    assert (row.detail, row.took_ns) == ("2 leads, voters 1, 2, 3", 7)
    assert row.facts == {"leader_id": 2, "voters": [1, 2, 3]}
    assert part.findings == []


def test_controllers_without_a_leader_are_an_error() -> None:
    """Whether they say so or say nothing."""
    for seen in (
        facts(quorum=quorum(leader=-1)),
        facts(quorum=quorum(error="NOT_LEADER_OR_FOLLOWER")),
        facts(is_quorum_silent=True),
    ):
        part = judge_quorum(seen)
        assert [each.id for each in part.findings] == ["KD2008"]
        assert part.rows[0].status is CheckStatus.ERROR


def silent_node(number: int, fault: Fault = Fault.SILENT) -> CheckedEndpoint:
    """Return a broker that cannot be used."""
    error = ConnectError(f"kafka-{number}:9092", Layer.KAFKA, "no answer", "", fault)
    return endpoint(f"kafka-{number}", visit(error=error), node_id=number)


def test_the_controller_that_brokers_wait_for_is_named_if_it_can_be() -> None:
    """No broker names it: one that hangs is likely; one that refuses would be noticed."""
    well = endpoint("kafka-1", visit(), node_id=1)
    cases = [
        ([well, silent_node(3)], ", probably node 3,"),
        ([well, silent_node(2), silent_node(3)], ""),
        ([well, silent_node(3, Fault.REFUSED)], ""),
        ([well], ""),
    ]
    for listeners, probable in cases:
        (finding,) = judge_quorum(facts(is_quorum_silent=True, listeners=listeners)).findings
        why = f"the active controller{probable} does not answer"
        assert finding.title == f"no controller can be asked: {why}"
        assert "majority" not in finding.title
        assert "too few" not in finding.fix


def test_a_voter_that_hangs_beside_a_leader_is_no_error() -> None:
    """The others have elected one."""
    part = judge_quorum(facts(quorum=quorum(), listeners=[silent_node(3)]))
    assert part.rows[0].detail == "2 leads, voters 1, 2, 3; no answer from 3"
    assert part.findings == []


def test_whoever_may_not_ask_and_clusters_without_a_quorum_have_no_row() -> None:
    """That is no fault."""
    denied = "CLUSTER_AUTHORIZATION_FAILED"
    for seen in (
        facts(),
        facts(quorum=DescribeQuorumResponse()),
        facts(quorum=DescribeQuorumResponse(error_code=CODE_BY_NAME[denied])),
        facts(quorum=quorum(error=denied)),
    ):
        assert judge_quorum(seen).rows == []


def test_brokers_that_list_no_groups_are_told() -> None:
    """Nothing was found there because nobody could look."""
    part = judged({"orders": partition()}, unlisted={2: "no answer within 2 s"})
    assert (part.findings, part.is_partial) == ([], False)
    assert part.warnings == [
        "broker 2 was not searched for groups that kdiag may have left: no answer within 2 s"
    ]


@pytest.mark.parametrize(("offered", "version"), [(6, 5), (1, 1), (None, 5)])
def test_what_probes_have_left_is_a_warning_with_what_removes_it(
    offered: int | None, version: int
) -> None:
    """The commands stand as they are typed, in a version that the broker has."""
    answered = visit()
    keys = [] if offered is None else [ApiVersion(api_keys.DELETE_TOPICS, 0, offered)]
    answered.versions = ApiVersionsResponse(api_keys=keys)
    servers = [endpoint("kafka-1", answered)]
    left = {"probe_topics": ["_kdiag_probe_1"], "probe_groups": ["_g"]}
    part = judged({"orders": partition()}, servers=servers, **left)
    (finding,) = part.findings
    assert finding.title == "kdiag's own, left on the cluster (2): topic _kdiag_probe_1, group _g"
    assert finding.fix == (
        "Remove them by "
        '`kdiag request DeleteGroups \'{"groupsNames":["_g"]}\' --to coordinator:_g --yes` and '
        '`kdiag request DeleteTopics \'{"topicNames":["_kdiag_probe_1"]}\' '
        f"-V {version} --to controller --yes`."
    )
