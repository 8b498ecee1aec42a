"""Which source can tell which cause, and how surely: the table of `kdiag help rebalance`.

Each cause is provoked in a story for each source; what the state machines say of it is the table.
`python -m group_stories.cause_table` prints it.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from group_stories.look_story import LookStory
from group_stories.record_story import RecordStory, shared, topic_name
from group_stories.recorded_groups import histories_of_lines
from group_stories.story import GroupStory, client_of
from kdiag.diagnosis.rebalance.events import JoinAsked, PartitionsSeen, Subscription
from kdiag.diagnosis.rebalance.histories import histories_of, histories_of_records
from kdiag.diagnosis.rebalance.model import CauseKind, Confidence, GroupHistory

COLUMNS: Final = (
    "capture, classic group",
    "capture, other groups",
    "broker's log, classic group",
    "broker's log, other groups",
    "records, classic group",
    "records, other groups",
    "descriptions, classic group",
    "descriptions, other groups",
)
_SURE: Final = (Confidence.LIKELY, Confidence.CERTAIN)
_CLICKS: Final = frozenset({"clicks"})
_TIMED_OUT: Final = "consumer poll timeout has expired."


def cause_table() -> list[str]:
    """Return the lines of the table, in Markdown."""
    columns = [_surest(histories) for histories in _told()]
    lines = [f"| cause | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for kind in CauseKind:
        if kind is not CauseKind.UNKNOWN:
            cells = " | ".join(column.get(kind, "no") for column in columns)
            lines.append(f"| `{kind}` | {cells} |")
    return lines


def _told() -> Iterator[list[GroupHistory]]:
    """Yield what the stories of each column tell."""
    for make in (_classic_stories, _epoch_stories):
        yield [each for story in make() for each in histories_of(story.events, "capture")]
    for texts in (_CLASSIC_LINES, _EPOCH_LINES):
        yield [each for lines in texts for each in histories_of_lines(_dated(lines))]
    for tell in (_classic_records, _epoch_records):
        yield [each for story in tell() for each in histories_of_records(story.records, topic_name)]
    yield [story.history for story in _classic_looks()]
    yield [story.history for story in _epoch_looks()]


def _surest(histories: list[GroupHistory]) -> dict[CauseKind, str]:
    found: dict[CauseKind, Confidence] = {}
    for history in histories:
        for rebalance in history.rebalances:
            for each in rebalance.causes:
                if each.confidence in _SURE and found.get(each.cause) is not Confidence.CERTAIN:
                    found[each.cause] = each.confidence
    return {kind: confidence.value for kind, confidence in found.items()}


def _classic_stories() -> Iterator[GroupStory]:
    for tell in (
        lambda story: story.leave("b"),
        lambda story: story.leave("b", reason=_TIMED_OUT),
        lambda story: story.ask("a", subscription=Subscription(_CLICKS | {"ads"}, ("range",))),
        lambda story: story.ask("a", subscription=Subscription(_CLICKS, ("sticky",))),
        lambda story: story.ask("a", reason="cached metadata has changed"),
        lambda story: story.ask("a", reason="need to revoke partitions and re-join"),
        lambda story: story.beat("a", 2, error="NOT_COORDINATOR"),
    ):
        yield _in_a_group_of_two(tell)
    yield _all_leave()
    yield _silent_and_back()
    yield _static_member()


def _in_a_group_of_two(tell: Callable[[GroupStory], object]) -> GroupStory:
    """Return a group that something happens in, and that rebalances then."""
    story = GroupStory()
    story.answer(story.ask(""), -1, error="MEMBER_ID_REQUIRED", member_id="a")
    story.form(1, "a")
    story.form(2, "a", "b")
    asked = tell(story)
    if isinstance(asked, JoinAsked):
        story.answer(asked, 3, members=dict.fromkeys("ab"))
    else:
        story.form(3, "a", "b")
    return story


def _all_leave() -> GroupStory:
    story = GroupStory()
    story.form(1, "a")
    story.leave("a")
    return story


def _silent_and_back() -> GroupStory:
    """Return a group of which a member falls silent; then another of its place comes."""
    story = GroupStory()
    story.form(1, "a", "b")
    story.beat("b", 1)
    story.wait(12)
    story.beat("a", 1, error="REBALANCE_IN_PROGRESS")
    story.form(2, "a")
    back = story.ask("", client=client_of("b")._replace(connection="tcp-b-again"))
    story.answer(story.ask("a"), 3, members=dict.fromkeys(["a", "b2"]))
    story.answer(back, 3, member_id="b2")
    return story


def _static_member() -> GroupStory:
    story = GroupStory()
    story.answer(story.ask("", instance_id="pod-1"), 1, member_id="x", members={"x": "pod-1"})
    story.answer(story.ask("", instance_id="pod-1"), 2, member_id="y")
    return story


def _epoch_stories() -> Iterator[GroupStory]:
    for tell in (
        lambda story: story.epoch("b", -1, -1),
        lambda story: story.epoch("b", 2, None, error="FENCED_MEMBER_EPOCH"),
        lambda story: story.epoch("a", 2, 2, topics=_CLICKS | {"ads"}),
        lambda story: story.epoch("a", 2, 2, assignor="range"),
        lambda story: story.epoch("a", 0, 3),
        _see_partitions,
        lambda story: story.epoch("b2", 0, 3, instance_id="pod-b", topics=_CLICKS),
    ):
        story = GroupStory()
        story.epoch("a", 0, 1, topics=_CLICKS, assignor="uniform")
        story.epoch("b", 0, 2, topics=_CLICKS, instance_id="pod-b")
        story.epoch("a", 1, 2)
        tell(story)
        story.epoch("a", 2, 3)
        yield story


def _see_partitions(story: GroupStory) -> None:
    place = story.events[0].evidence
    story.events.append(PartitionsSeen(story.now_ns, "", place, "clicks", 6, 8))


def _classic_records() -> Iterator[RecordStory]:
    two = shared("a", "b")
    tells: tuple[Callable[[RecordStory], None], ...] = (
        lambda story: story.classic(3, shared("a")),
        lambda story: story.classic(3, shared("a", "b", "c")),
        lambda story: story.classic(3, two, topics=["clicks", "ads"]),
        lambda story: story.classic(3, two, protocol="sticky"),
        lambda story: story.classic(3, shared("a", "b", count=6)),
        lambda story: story.classic(3, two),
        lambda story: story.classic(3, {}, protocol=None),
    )
    for tell in tells:
        story = RecordStory()
        story.classic(1, shared("a"))
        story.classic(2, two)
        tell(story)
        yield story
    places: tuple[dict[str, Any], ...] = (
        {"instance_id": "pod-1"},
        {"client_id": "app", "host": "10.0.0.7"},
    )
    for same in places:
        story = RecordStory()
        story.classic(1, shared("a"), **same)
        story.classic(2, shared("a2"), **same)
        yield story


def _epoch_records() -> Iterator[RecordStory]:
    tells: tuple[Callable[[RecordStory], None], ...] = (
        lambda story: story.gone("b"),
        lambda story: story.member("c"),
        lambda story: story.member("b2", instance_id="pod-b"),
        lambda story: story.member("b", topics=("ads",), instance_id="pod-b"),
        lambda story: story.member("a", server_assignor="range"),
        lambda story: story.counts("clicks", 8),
    )
    for tell in tells:
        story = RecordStory()
        story.member("a")
        story.member("b", instance_id="pod-b")
        story.counts("clicks", 4)
        story.epoch(2)
        story.wait()
        tell(story)
        story.epoch(3)
        yield story


def _classic_looks() -> Iterator[LookStory]:
    two = {"a": (0, 1), "b": (2, 3)}
    tells: tuple[Callable[[LookStory], None], ...] = (
        lambda story: story.classic({"a": (0, 1, 2, 3)}),
        lambda story: story.classic({"a": (0, 1), "b": (2,), "c": (3,)}),
        lambda story: story.classic(two, topic="ads"),
        lambda story: story.classic(two, protocol="sticky"),
        lambda story: story.classic({"a": (0, 1, 4), "b": (2, 3, 5)}),
        lambda story: story.classic(two),
        lambda story: story.classic({}, state="Empty", protocol=""),
    )
    for tell in tells:
        story = LookStory()
        story.classic(two)
        story.classic(two, state="PreparingRebalance")
        tell(story)
        yield story
    places: tuple[dict[str, Any], ...] = (
        {"group_instance_id": "pod-1"},
        {"client_id": "app", "client_host": "/10.0.0.7"},
    )
    for same in places:
        story = LookStory()
        story.classic({"a": (0, 1)}, **same)
        story.classic({"a2": (0, 1)}, **same)
        yield story


def _epoch_looks() -> Iterator[LookStory]:
    two = {"a": (0, 1), "b": (2, 3)}
    tells: tuple[Callable[[LookStory], None], ...] = (
        lambda story: story.consumer(5, {"a": (0, 1, 2, 3)}),
        lambda story: story.consumer(5, {**two, "c": ()}),
        lambda story: story.consumer(5, two, subscribed_topic_names=["ads"]),
        lambda story: story.consumer(5, {"a": (0, 1, 4), "b": (2, 3, 5)}),
    )
    for tell in tells:
        story = LookStory()
        story.consumer(4, two)
        tell(story)
        yield story
    story = LookStory()
    story.consumer(4, {"a": (0, 1)}, instance_id="pod-1")
    story.consumer(5, {"a2": (0, 1)}, instance_id="pod-1")
    yield story


def _dated(texts: tuple[str, ...]) -> list[str]:
    return [f"[2026-11-21 10:40:{second:02},000] {text}" for second, text in enumerate(texts)]


def _prepared(reason: str) -> str:
    return (
        "Preparing to rebalance group orders in state Stable with old generation 2 (reason: "
        f"{reason})."
    )


_POD: Final = "static member a with instance id pod-1"
_CLASSIC_LINES: Final = (
    *(
        (_prepared(reason),)
        for reason in (
            "Adding new member a with group instance id null; client reason: not provided",
            "explicit `LeaveGroup` request for (a) members.",
            f"Removing member a on LeaveGroup; client reason: {_TIMED_OUT}",
            "removing member a on heartbeat expiration.",
            f"Updating metadata for {_POD}",
            f"Group's selectedProtocol will change because {_POD} joined with change of protocol",
            "Updating metadata for member a during Stable; client reason: not provided",
            "Leader a re-joining group during Stable; client reason: cached metadata has changed",
            "Leader a re-joining group during Stable; client reason: rebalance enforced by user",
        )
    ),
    (
        _prepared("explicit `LeaveGroup` request for (a) members."),
        "Group orders with generation 3 is now empty.",
    ),
)
_EPOCH_LINES: Final = tuple(
    (f"[GroupId orders] {text}.", "[GroupId orders] Bumped group epoch to 3 with metadata hash 1.")
    for text in (
        "Member a joins the consumer group using the consumer protocol",
        "Member a left the consumer group",
        "Member a fenced from the group because its session expired",
        "Member a updated its subscribed topics to: [ads]",
        "Computed new metadata hash: 1",
        (
            "Static member with instance id pod-1 re-joins the consumer group using the consumer "
            "protocol. Created a new member b to replace the existing member a"
        ),
    )
)

if __name__ == "__main__":
    sys.stdout.write("\n".join(cause_table()) + "\n")
