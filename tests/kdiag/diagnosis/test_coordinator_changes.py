"""What has changed between two looks at a coordinator."""

from kdiag.diagnosis.coordinator import (
    BrokerAnswer,
    BrokerNode,
    CoordinatorReport,
    GroupState,
    PartitionPlace,
)
from kdiag.diagnosis.coordinator_changes import changes, known_after
from kdiag.wire.coordinator_partition import CoordinatorKind
from tiers.cases import for_each

NODES = {number: BrokerNode(number, f"kafka-{number}", 9092) for number in (1, 2, 3)}
REFUSED = "COORDINATOR_NOT_AVAILABLE"


def place(leader: int | None = 2, isr: tuple[int, ...] = (1, 2)) -> PartitionPlace:
    """Return the partition that keeps the group."""
    return PartitionPlace(
        topic="__consumer_offsets", partition=4, leader=leader, replicas=[1, 2], isr=isr
    )


def look(**fields: object) -> CoordinatorReport:
    """Return a healthy report with changes."""
    healthy: dict[str, object] = {
        "key": "orders",
        "kind": CoordinatorKind.GROUP,
        "coordinator": NODES[2],
        "error": None,
        "message": None,
        "partition": place(),
        "answers": [BrokerAnswer(node_id=n, coordinator=NODES[2]) for n in (1, 2)],
        "reachable": True,
        "why_unreachable": None,
        "group": GroupState("classic", "Stable"),
    }
    return CoordinatorReport(**{**healthy, **fields})  # type: ignore[arg-type]


LOST = look(coordinator=None, error=REFUSED, reachable=False, group=None)
UNREACHABLE = look(reachable=False, why_unreachable="connection refused")
DISAGREEING = look(
    answers=[BrokerAnswer(node_id=1, coordinator=NODES[2]), BrokerAnswer(node_id=2, error=REFUSED)]
)
SILENT = look(
    answers=[
        BrokerAnswer(node_id=1, coordinator=NODES[2]),
        BrokerAnswer(node_id=2, failure="refused"),
    ]
)


@for_each(
    ("before", "after", "expected"),
    [
        (look(), look(), []),
        (look(), LOST, [f"no coordinator: {REFUSED}"]),
        (look(), look(coordinator=None, reachable=False), ["no coordinator: no broker answered"]),
        (LOST, look(), ["coordinator is broker 2 at kafka-2:9092", "classic group is Stable"]),
        (
            look(),
            look(coordinator=NODES[3]),
            ["coordinator is broker 3 at kafka-3:9092, was broker 2"],
        ),
        (look(), UNREACHABLE, ["broker 2 cannot be used: connection refused"]),
        (UNREACHABLE, look(), ["broker 2 can be used"]),
        (look(), DISAGREEING, ["the brokers disagree"]),
        (DISAGREEING, look(), ["the brokers agree"]),
        (look(partition=None), look(), ["kept in __consumer_offsets[4]"]),
        (look(), look(partition=None), []),
        (
            look(),
            look(partition=place(None, ())),
            ["__consumer_offsets[4] has no leader", "__consumer_offsets[4] in sync on nobody"],
        ),
        (
            look(),
            look(partition=place(1, (1,))),
            ["__consumer_offsets[4] led by 1", "__consumer_offsets[4] in sync on 1"],
        ),
        (look(), look(partition=place(2, (2, 1))), []),
        (look(), SILENT, ["broker 2 does not answer: refused"]),
        (SILENT, look(), ["broker 2 answers again"]),
        (look(), look(answers=look().answers[:1]), ["broker 2 has left the cluster"]),
        (look(answers=look().answers[:1]), look(), ["broker 2 has joined the cluster"]),
        (look(), look(group=None), ["the group is gone"]),
        (look(), look(group=None, is_group_known=False), []),
        (look(group=None, is_group_known=False), look(group=None), ["there is no such group"]),
        (
            look(),
            look(
                coordinator=None,
                answers=[BrokerAnswer(node_id=n, failure="refused") for n in (1, 2)],
                reachable=False,
            ),
            ["no coordinator: no broker answered", "brokers 1 and 2 do not answer: refused"],
        ),
        (look(), look(partition=None, answers=look().answers[:1]), []),
        (look(), look(group=GroupState("share", "")), ["share group is there"]),
    ],
)
def test_each_change_has_its_words(
    before: CoordinatorReport, after: CoordinatorReport, expected: list[str]
) -> None:
    """Only what is different is said."""
    assert changes(before, after) == expected


def test_what_a_look_could_not_find_out_has_not_changed() -> None:
    """The next look is compared with what was known before."""
    blind = look(coordinator=None, partition=None, answers=[], group=None, is_group_known=False)
    known = known_after(look(), blind)
    assert changes(known, look()) == ["coordinator is broker 2 at kafka-2:9092"]
    assert known_after(None, blind) is blind
    assert known_after(blind, look()) == look()
