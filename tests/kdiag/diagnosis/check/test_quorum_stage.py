from kdiag.diagnosis.check.quorum_stage import judge_quorum
from kdiag.diagnosis.check.report import Stage, Status
from kdiag.wire.api.describe_quorum import (
    DescribeQuorumResponse,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from kdiag.wire.error_code import CODE_BY_NAME
from made_values.check_subject import facts


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
    assert (row.stage, row.status, row.target) == (Stage.METADATA, Status.OK, "controllers")
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
        assert part.rows[0].status is Status.ERROR


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
