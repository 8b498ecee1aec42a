from datetime import timedelta, timezone

import pytest

from kdiag.diagnosis.rebalance.log_lines import Line, read_lines
from kdiag.diagnosis.rebalance.model import EvidencePlace
from tiers.cases import for_each

AT = "[2026-11-21 10:40:47,555] INFO "
AT_NS = 1_795_257_647_555_000_000
OLD = "[GroupCoordinator 1]: "
NEW = "[GroupCoordinator id=1 topic=__consumer_offsets partition=11] "
ID = "consumer-orders-1-8c7975b8"
LINES: tuple[tuple[str, Line | None, dict[str, str]], ...] = (
    (
        (
            f"{OLD}Preparing to rebalance group orders in state Stable with old generation 3 "
            f"(__consumer_offsets-11) (reason: removing member {ID} on heartbeat expiration) "
            "(kafka.coordinator.group.GroupCoordinator)"
        ),
        Line.PREPARING,
        {
            "state": "Stable",
            "generation": "3",
            "reason": f"removing member {ID} on heartbeat expiration",
        },
    ),
    (
        (
            f"{NEW}Preparing to rebalance group orders in state PreparingRebalance with "
            f"old generation "
            "0 (reason: Adding new member a with group instance id null; client reason: "
            "not provided)."
            " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
        ),
        Line.PREPARING,
        {
            "state": "PreparingRebalance",
            "generation": "0",
            "reason": "Adding new member a with group instance id null; "
            "client reason: not provided",
        },
    ),
    (
        (
            f"{OLD}Stabilized group orders generation 4 (__consumer_offsets-11) with 2 members "
            "(kafka.coordinator.group.GroupCoordinator)"
        ),
        Line.STABILIZED,
        {"generation": "4", "count": "2"},
    ),
    (
        (
            f"{OLD}Stabilized group orders generation 4 (__consumer_offsets-11) "
            "(kafka.coordinator.group.GroupCoordinator)"
        ),
        Line.STABILIZED,
        {"generation": "4"},
    ),
    (
        (
            f"{NEW}Assignment received from leader {ID} for group orders for generation "
            f"4. The group "
            "has 2 members, 0 of which are static."
        ),
        Line.ASSIGNED,
        {"member": ID, "generation": "4"},
    ),
    (
        f"{OLD}Assignment received from leader for group orders for generation 4",
        Line.ASSIGNED,
        {"generation": "4"},
    ),
    (
        f"{OLD}Group orders with generation 5 (__consumer_offsets-11) is now empty",
        Line.EMPTY,
        {"generation": "5"},
    ),
    (
        f"{NEW}Member {ID} in group orders has failed, removing it from the group.",
        Line.FAILED,
        {"member": ID},
    ),
    (
        (
            f"{NEW}[Group orders] Dynamic member {ID} has left group through explicit `LeaveGroup` "
            "request; client reason: the consumer is being closed"
        ),
        Line.LEFT,
        {"member": ID, "reason": "the consumer is being closed"},
    ),
    (
        (
            f"{OLD}Member MemberMetadata(memberId={ID}, groupInstanceId=None, clientId=c, "
            f"clientHost=/h) "
            "has left group orders through explicit `LeaveGroup`; client reason: not provided"
        ),
        Line.LEFT,
        {"member": ID, "reason": "not provided"},
    ),
    (
        (
            f"{OLD}Member MemberMetadata(memberId={ID}, groupInstanceId=Some(pod-1), "
            f"clientId=c) has "
            "left group orders through explicit `LeaveGroup` request"
        ),
        Line.LEFT,
        {"member": ID, "instance": "pod-1"},
    ),
    (
        (
            f"{OLD}Member[group.instance.id None, member.id {ID}] in group orders has "
            f"left, removing "
            "it from the group"
        ),
        Line.LEFT,
        {"member": ID},
    ),
    (f"{OLD}Member {ID} has left the building", None, {}),
    (
        f"{NEW}[GroupId orders] Member {ID} joins the consumer group using the consumer protocol.",
        Line.EPOCH_JOINED,
        {"member": ID, "type": "consumer"},
    ),
    (
        (
            f"{NEW}[GroupId orders] Static member {ID} with instance id pod-1 joins the "
            f"consumer group "
            "using the consumer protocol."
        ),
        Line.EPOCH_JOINED,
        {"member": ID, "instance": "pod-1", "type": "consumer"},
    ),
    (
        (
            f"{NEW}[GroupId orders][MemberId {ID}] Member joins the streams group using "
            f"the streams "
            "protocol."
        ),
        Line.EPOCH_JOINED,
        {"member": ID, "type": "streams"},
    ),
    (
        f"{NEW}[GroupId orders] Member {ID} left the share group.",
        Line.EPOCH_LEFT,
        {"member": ID, "type": "share"},
    ),
    (
        f"{NEW}[GroupId orders][MemberId {ID}] Member {ID} left the streams group.",
        Line.EPOCH_LEFT,
        {"member": ID, "type": "streams"},
    ),
    (
        f"{NEW}[GroupId orders] Member {ID} fenced from the group because its session expired.",
        Line.EPOCH_FENCED,
        {"member": ID, "reason": "its session expired"},
    ),
    (
        f"{NEW}[GroupId orders] Streams member {ID} fenced from the group because it is late..",
        Line.EPOCH_FENCED,
        {"member": ID, "reason": "it is late"},
    ),
    (
        f"{NEW}[GroupId orders] Member {ID} updated its subscribed topics to: [a].",
        Line.EPOCH_SUBSCRIBED,
        {"member": ID},
    ),
    (
        f"{NEW}[GroupId orders] Computed new metadata hash: -151843179063346618.",
        Line.EPOCH_HASHED,
        {"hash": "-151843179063346618"},
    ),
    (
        f"{NEW}[GroupId orders] Bumped group epoch to 2 with metadata hash 24.",
        Line.EPOCH_BUMPED,
        {"generation": "2"},
    ),
    (
        f"{NEW}[GroupId orders] Bumped streams group epoch to 3 with metadata hash 24.",
        Line.EPOCH_BUMPED,
        {"generation": "3", "type": "streams "},
    ),
    (
        (
            f"{NEW}[GroupId orders][MemberId {ID}] Computed a new target assignment for epoch 4 "
            "with 'sticky' assignor in 1ms."
        ),
        Line.EPOCH_ASSIGNED,
        {"member": ID, "generation": "4"},
    ),
    (
        (
            f"{NEW}[GroupId orders] Member {ID} new assignment state: epoch=2, previousEpoch=0, "
            "state=STABLE, assignedPartitions=[]."
        ),
        Line.EPOCH_SETTLED,
        {"member": ID, "generation": "2", "state": "STABLE"},
    ),
)


@for_each(("text", "kind", "fields"), LINES)
def test_a_line_is_known_by_its_words(text: str, kind: Line | None, fields: dict[str, str]) -> None:
    """Of both coordinators and all releases; its group, member and numbers are read."""
    found = [(each.kind, each.group, each.fields) for each in read_lines("log", [AT + text])]

    assert found == ([] if kind is None else [(kind, "orders", fields)])


@for_each(
    ("time", "at_ns"),
    [
        ("[2026-11-21 10:40:47,555]", AT_NS),
        ("2026-11-21T10:40:47.555Z", AT_NS),
        ("2026-11-21T12:40:47.555+02:00", AT_NS),
        ("2026-11-21T08:40:47.555-0200", AT_NS),
        ("2026-11-21 10:40:47", AT_NS - 555_000_000),
        ('{"time":"2026-11-21T10:40:47.555000001Z","message":"', AT_NS + 1),
    ],
)
def test_times_are_read_as_they_are_written(time: str, at_ns: int) -> None:
    """Those that name no zone are of the zone that is given."""
    (line,) = read_lines("log", [f"{time} {LINES[5][0]}"])

    assert line.at_ns == at_ns


def test_a_zone_is_that_of_times_that_name_none() -> None:
    """A log of a broker two hours east of Greenwich."""
    east = timezone(timedelta(hours=2))
    (line,) = read_lines("log", [AT + LINES[2][0]], zone=east)

    assert line.at_ns == AT_NS - 7200 * 1_000_000_000


def test_lines_are_numbered_over_all_that_the_file_has() -> None:
    """The number is the evidence."""
    lines = ["a stack trace", AT + "Stabilized nothing", AT + LINES[2][0]]

    (line,) = read_lines("server.log", lines)

    assert line.evidence == EvidencePlace("line", "server.log", 3)


@pytest.mark.parametrize("time", ["", "[2026-13-41 10:40:47,555]", "[10:40:47]"])
def test_a_line_without_a_time_is_of_no_use(time: str) -> None:
    """It cannot be placed in the timeline."""
    assert list(read_lines("log", [time + LINES[2][0]])) == []


def test_a_group_may_have_any_name() -> None:
    """Spaces and brackets do not end it."""
    text = f"{NEW}[GroupId my [odd] group] Bumped group epoch to 2 with metadata hash 24."

    (line,) = read_lines("log", [AT + text])

    assert line.group == "my [odd] group"
