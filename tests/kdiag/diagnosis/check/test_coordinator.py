from kdiag.diagnosis.check.coordinator import judge_coordinator
from kdiag.diagnosis.check.facts import SessionLimits
from kdiag.diagnosis.check.report import CheckStatus
from kdiag.diagnosis.coordinator import (
    BrokerAnswer,
    BrokerNode,
    CoordinatorFacts,
    GroupState,
    InternalTopic,
    PartitionPlace,
)
from kdiag.wire.coordinator_partition import CoordinatorKind
from made_values.check_subject import facts
from tiers.cases import for_each

NODES = {number: BrokerNode(number, f"kafka-{number}", 9092) for number in (1, 2)}


def coordinator(
    error: str | None = None, *, group: GroupState | None = None, key: str = "billing"
) -> CoordinatorFacts:
    """Return what two brokers say: broker 2, or an error."""
    named = None if error else NODES[2]
    place = PartitionPlace(
        topic="__consumer_offsets", partition=0, leader=2, replicas=[2, 1], isr=[2, 1]
    )
    return CoordinatorFacts(
        kind=CoordinatorKind.GROUP,
        brokers=NODES,
        unreachable={},
        answers={key: [BrokerAnswer(node_id=by, coordinator=named, error=error) for by in NODES]},
        topic=InternalTopic(name="__consumer_offsets", partitions={0: place}),
        groups={key: group} if group else {},
    )


def test_the_coordinator_of_a_group_is_told_with_its_partition_and_state() -> None:
    """In one line."""
    found = coordinator(group=GroupState("consumer", "Stable"))
    part = judge_coordinator(
        facts(coordinator=found, groups=["billing"], took_ns={"coordinator": 9})
    )

    (row,) = part.rows
    assert (row.status, row.target, row.took_ns) == (CheckStatus.OK, "group billing", 9)
    assert row.detail == (
        "broker 2 at kafka-2:9092, by __consumer_offsets[0]; consumer group, Stable"
    )
    assert row.facts == {"key": "billing", "node_id": 2, "error": None, "members": None}
    known = facts(coordinator=found, groups=["billing"], group_members={"billing": 3})
    (row,) = judge_coordinator(known).rows
    assert row.detail.endswith("; consumer group, Stable, 3 members")
    assert row.facts["members"] == 3


def test_a_group_that_the_user_may_not_see_is_a_matter_of_rights() -> None:
    """Only if it was asked for: kdiag's own is nobody's concern."""
    denied = "GROUP_AUTHORIZATION_FAILED"
    asked = judge_coordinator(facts(coordinator=coordinator(denied), groups=["billing"]))
    own = judge_coordinator(facts(coordinator=coordinator(denied, key="kdiag-check")))

    assert [each.id for each in asked.findings] == ["KD4001"]
    assert (asked.error_names, asked.rows[0].status) == ([denied], CheckStatus.ERROR)
    assert (own.findings, own.error_names, own.rows[0].status) == ([], [], CheckStatus.INFO)
    assert own.rows[0].target == "a group of kdiag's own"


def test_nobody_who_answers_is_told_as_that() -> None:
    """Each broker's silence is a finding of its own."""
    found = coordinator()
    found.answers = {"billing": []}
    part = judge_coordinator(facts(coordinator=found, groups=["billing"]))
    assert part.rows[0].detail == "no broker answered"


def test_where_nobody_was_asked_the_stage_is_skipped() -> None:
    """Because no group has been used yet, or because something failed."""
    assert "-g asks for one" in judge_coordinator(facts()).rows[0].detail
    part = judge_coordinator(facts(failures={"coordinator": "timed out"}))
    assert (part.rows[0].status, part.rows[0].detail) == (CheckStatus.SKIPPED, "timed out")
    assert part.is_partial
    assert not judge_coordinator(facts()).is_partial


def test_a_group_that_does_not_exist_is_not_ok_without_a_word() -> None:
    """It may be a slip of the pen, or still to come."""
    (row,) = judge_coordinator(facts(coordinator=coordinator(), groups=["billing"])).rows
    assert row.status is CheckStatus.INFO
    assert row.detail.endswith("; there is no such group")


@for_each(
    ("group", "session_ms", "ids"),
    [
        (None, 6000, []),
        (None, 5999, ["KD3011"]),
        (GroupState("classic", "Empty"), 1_800_001, ["KD3011"]),
        (GroupState("consumer", "Empty"), 1, []),
        (None, None, []),
    ],
)
def test_a_session_timeout_that_the_coordinator_refuses_is_found(
    group: GroupState | None, session_ms: int | None, ids: list[str]
) -> None:
    """Before a member is; brokers have their own for groups of the consumer protocol."""
    known = facts(
        coordinator=coordinator(group=group),
        groups=["billing"],
        session_timeout_ms=session_ms,
        session_limits={"billing": SessionLimits(2, 6000, 1_800_000)},
    )
    findings = judge_coordinator(known).findings
    assert [each.id for each in findings] == ids
    if ids:
        assert f"session.timeout.ms is {session_ms} here" in findings[0].title


def test_limits_that_may_not_be_read_are_no_fault() -> None:
    """Nothing is guessed."""
    known = facts(coordinator=coordinator(), groups=["billing"], session_timeout_ms=1)
    assert judge_coordinator(known).findings == []
