from typing import Any

from kdiag.diagnosis.groups.model import DescribedMember, Group, PartitionLag
from kdiag.diagnosis.groups.subscriptions import find_in_subscriptions
from kdiag.findings.finding import Finding
from tiers.cases import for_each


def member(name: str, *topics: str, owns: int | None = None, **facts: Any) -> DescribedMember:
    """Return a member that wants topics, and owns a partition of the first of them."""
    assignment = {} if owns is None else {topics[0]: [owns]}
    known: dict[str, Any] = {"client_id": name, "host": "h", "subscribed": topics}
    return DescribedMember(member_id=name, assignment=assignment, **(known | facts))


def group(*members: DescribedMember, counts: dict[str, int], **facts: Any) -> Group:
    """Return a group, and topics with so many partitions."""
    partitions = [
        PartitionLag(topic=topic, partition=number)
        for topic, count in counts.items()
        for number in range(count)
    ]
    known: dict[str, Any] = {"type": "classic", "state": "Stable"}
    return Group(group="g", members=members, partitions=partitions, **(known | facts))


def found(group: Group) -> list[Finding]:
    """Return all findings of a group."""
    return [*find_in_subscriptions(group)]


@for_each(
    ("idle", "counts", "why"),
    [
        (member("b", "t"), {"t": 1}, "2 members share 1 partitions"),
        (member("b", "t", "u"), {"t": 2}, "the assignor sticky gave it none"),
        (member("b", "u"), {"t": 2}, "there is no partition of u"),
        (member("b"), {"t": 2}, "it subscribes to no topic, or its pattern matches none"),
        (member("b", pattern="t.*"), {"t": 2}, "no topic was given for its pattern t.*"),
        (member("b", subscribed=None), {"t": 2}, "it does not tell its topics"),
        (
            member("b", "t", target={"t": [1]}),
            {"t": 2},
            "others have not given up yet what is meant for it",
        ),
    ],
)
def test_why_a_member_has_no_partitions(
    idle: DescribedMember, counts: dict[str, int], why: str
) -> None:
    """As far as what it wants, and what there is, tell."""
    told = group(member("a", "t", owns=0), idle, counts=counts, assignor="sticky")
    finding = next(each for each in found(told) if each.id == "KD3405")
    assert finding.evidence["why"] == why
    assert finding.title.startswith("1 of the 2 members of group g have no partitions: b at h: ")


def test_the_range_assignor_leaves_the_last_members_of_narrow_topics_without() -> None:
    """Three topics of one partition each: all go to the first of three members."""
    members = [member("a", "t", "u", "v", owns=0), member("b", "t", "u", "v")]
    counts = {"t": 1, "u": 1, "v": 1}
    (finding,) = found(group(*members, counts=counts, assignor="range"))
    assert finding.evidence["why"].startswith("the range assignor begins each topic with the same")
    assert "no topic has more than 1 partitions for 2 of them" in finding.title


def test_topics_that_do_not_exist() -> None:
    """With who wants them; one that may not be seen is not called absent."""
    errors = {"ordres": "UNKNOWN_TOPIC_OR_PARTITION", "secret": "TOPIC_AUTHORIZATION_FAILED"}
    members = [member("a", "t", owns=0), member("b", "t", "ordres", "secret", owns=1)]
    (finding,) = found(group(*members, counts={"t": 2}, topic_errors=errors))
    assert (finding.id, finding.evidence["topics"]) == ("KD3417", "ordres")
    assert finding.evidence["members"] == "b at h"


def test_members_that_share_no_topic_are_told_apart() -> None:
    """A member that has a topic with both joins two parts; nobody knows what patterns match."""
    a, b = member("a", "t", owns=0), member("b", "u", owns=0)
    (finding,) = found(group(a, b, counts={"t": 1, "u": 1}))
    assert (finding.id, finding.evidence["parts"]) == ("KD3418", "t of a at h; u of b at h")
    bridge = member("c", "u", "t", owns=1)
    assert found(group(a, b, bridge, counts={"t": 1, "u": 2})) == []
    assert found(group(a, member("b", "u", owns=0, pattern="t"), counts={"t": 1, "u": 1})) == []


def test_members_of_the_classic_protocol_in_a_newer_group() -> None:
    """A member whose coordinator does not tell is none."""
    members = [member("a", "t", owns=0, protocol="consumer"), member("b", "t", owns=1)]
    assert found(group(*members, counts={"t": 2})) == []
    members[1].protocol = "classic"
    (finding,) = found(group(*members, counts={"t": 2}))
    assert (finding.id, finding.evidence["members"]) == ("KD3419", "b at h")
