from typing import Any, get_args

from group_stories.story import GroupStory
from kdiag.diagnosis.rebalance.events import EpochBeat, Event, JoinAnswered, PartitionsSeen
from kdiag.diagnosis.rebalance.findings import find_all
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType


def test_every_event_says_when_where_and_of_which_group() -> None:
    """The first three fields of each kind are the same."""
    for kind in get_args(Event):
        assert kind._fields[:3] == ("at_ns", "group", "evidence"), kind


def test_what_concerns_all_groups_names_none() -> None:
    """It makes no group by itself."""
    assert (
        histories_of(
            [PartitionsSeen(7, "", EvidencePlace("packet", None, 3), "clicks", 1, 2)], "capture"
        )
        == []
    )


def test_an_epochs_heartbeat_names_the_kind_of_its_group() -> None:
    """So a share group is never taken for another one."""
    assert "type" in EpochBeat._fields
    assert set(GroupType) == {"classic", "consumer", "share", "streams"}


def in_cluster(story: GroupStory, cluster: str | None) -> list[Event]:
    """Return the events of a story, which happened in a cluster."""

    def placed(event: Any) -> Any:
        if isinstance(event, JoinAnswered):
            return event._replace(asked=placed(event.asked))
        return event._replace(client=event.client._replace(cluster=cluster, broker=f"{cluster}:1"))

    return [placed(each) for each in story.events]


def test_groups_of_one_name_in_two_clusters_are_two() -> None:
    """Each has its members and generations, and new partitions of its own topics."""
    one, other = GroupStory(), GroupStory()
    one.form(1, "a")
    other.form(7, "b")
    for story, generation in ((one, 2), (other, 8)):
        story.join(generation, "a")
    seen = PartitionsSeen(
        one.events[-2].at_ns, "", EvidencePlace("packet", None, 3), "clicks", 1, 2
    )
    events = [*in_cluster(one, "A"), *in_cluster(other, "B"), seen._replace(cluster="A")]
    histories = histories_of(sorted(events, key=lambda each: each.at_ns), "capture")

    assert [(each.group, each.cluster, each.coordinator) for each in histories] == [
        ("orders", "A", "A:1"),
        ("orders", "B", "B:1"),
    ]
    assert [[each.generation for each in of.rebalances] for of in histories] == [[1, 2], [7, 8]]
    (finding,) = find_all(histories)
    assert finding.id == "KD3315"
    assert finding.title == "group orders is in two clusters: A (A:1) and B (B:1)"


def test_a_finding_says_of_which_cluster_its_group_is() -> None:
    """Where that is not clear."""
    story = GroupStory()
    story.form(1, "a")
    story.leave("a", reason="consumer poll timeout has expired.")
    only = histories_of(in_cluster(story, "A"), "capture")
    both = [*only, *histories_of(in_cluster(story, "B"), "capture")]

    assert "group orders once" in find_all(only)[0].title
    assert "group orders (in two clusters, here A, A:1) once" in find_all(both)[0].title
    assert [each.evidence.get("cluster") for each in find_all(both)] == ["A", "B", None]
