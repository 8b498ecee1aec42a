from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import pytest

from group_stories.recorded_groups import cuts, events_of_capture, recorded_group
from kdiag.diagnosis.rebalance.events import (
    Beat,
    CoordinatorFound,
    EpochBeat,
    Event,
    FetchBegan,
    JoinAnswered,
    JoinAsked,
    Leaving,
    SyncAnswered,
    SyncAsked,
)
from kdiag.diagnosis.rebalance.model import GroupType

Kind = TypeVar("Kind")


def events_of(name: str, folder: Path) -> list[Event]:
    """Return the events of a recording."""
    return events_of_capture(recorded_group(name).capture, folder).in_order()


def of_kind(kind: type[Kind], events: list[Event]) -> list[Kind]:
    """Return the events of one kind."""
    return [each for each in events if isinstance(each, kind)]


def test_a_classic_group_is_told_step_by_step(tmp_path: Path) -> None:
    """In the order of time, each with its packet, group and client."""
    events = events_of("reb_leave_kafkapython", tmp_path)
    kinds = Counter(type(each) for each in events)

    assert kinds[JoinAsked] == kinds[JoinAnswered] > 0
    assert kinds[SyncAsked] == kinds[SyncAnswered] > 0
    assert {Leaving, Beat, CoordinatorFound, FetchBegan} <= kinds.keys()
    assert [each.at_ns for each in events] == sorted(each.at_ns for each in events)
    assert {each.group for each in events} == {"grp-leave"}
    assert all(each.evidence.at > 0 for each in events)


def test_what_a_member_asks_for_is_read(tmp_path: Path) -> None:
    """Its subscription, its timeouts; of the leader the whole assignment."""
    events = events_of("reb_crash_confluent", tmp_path)
    joins, syncs = of_kind(JoinAsked, events), of_kind(SyncAsked, events)

    assert {each.protocol_type for each in joins} == {"consumer"}
    assert {each.session_timeout_ns for each in joins} == {6_000_000_000}
    assert all(each.subscription.topics and each.subscription.assignors for each in joins)
    given = [each.assignments for each in syncs if each.assignments]
    assert given
    assert all(partitions for shares in given for partitions in shares.values())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("kip848_java", GroupType.CONSUMER),
        ("share_java", GroupType.SHARE),
        ("streams_group_java", GroupType.STREAMS),
    ],
)
def test_heartbeats_with_epochs_name_their_kind_of_group(
    name: str, kind: GroupType, tmp_path: Path
) -> None:
    """They join with 0 and leave with -1; topics have names, not ids."""
    beats = of_kind(EpochBeat, events_of(name, tmp_path))

    assert {each.type for each in beats} == {kind}
    assert {0, -1} <= {each.sent_epoch for each in beats}
    assigned = {topic for each in beats for topic, _ in each.assigned or ()}
    assert assigned
    assert all(len(topic) < 22 for topic in assigned), "as long as an id"


def test_heartbeats_that_only_repeat_are_kept_at_both_ends(tmp_path: Path) -> None:
    """A quiet group takes no memory; what is kept tells from when to when."""
    beats = of_kind(Beat, events_of("reb_slow_confluent", tmp_path))
    rows = [
        list(row)
        for member in {each.member_id for each in beats}
        for _, row in groupby(
            (each for each in beats if each.member_id == member),
            lambda each: (each.generation, each.error, each.is_answered),
        )
    ]

    assert max(len(row) for row in rows if row[0].error is None) == 2


def test_responses_without_requests_are_counted(tmp_path: Path) -> None:
    """They say nothing of groups by themselves."""
    pieces = dict(cuts(recorded_group("reb_crash_confluent").capture, "any"))
    counts = {
        side: events_of_capture(pieces[side], tmp_path).orphan_count
        for side in ("responses", "requests")
    }

    assert counts["responses"] > 50
    assert counts["requests"] == 0


def test_a_request_without_an_answer_is_told_as_asked(tmp_path: Path) -> None:
    """Nothing is taken for granted."""
    pieces = dict(cuts(recorded_group("reb_crash_confluent").capture, "any"))
    events = events_of_capture(pieces["requests"], tmp_path).in_order()

    assert of_kind(JoinAsked, events)
    assert not of_kind(JoinAnswered, events)
    assert not any(each.is_confirmed for each in of_kind(Leaving, events))
    assert not any(each.is_answered for each in of_kind(Beat, events))
