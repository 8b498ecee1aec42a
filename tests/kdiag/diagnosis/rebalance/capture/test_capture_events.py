import random
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import pytest

from group_stories.recorded_groups import cuts, events_of_capture, recorded_group
from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.capture import capture_events
from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.rebalance.capture.exchange_events import GroupSighting, PartitionCount
from kdiag.diagnosis.rebalance.events import (
    Beat,
    CoordinatorFound,
    EpochBeat,
    Event,
    FetchBegan,
    JoinAnswered,
    JoinAsked,
    Leaving,
    PartitionsSeen,
    SyncAnswered,
    SyncAsked,
)
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import decode_capture

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


@pytest.mark.thorough
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


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["reb_leave_kafkapython", "kip848_java", "reb_crash_confluent"])
def test_the_order_in_which_exchanges_come_changes_nothing(name: str, tmp_path: Path) -> None:
    """One process reads them in the order of the capture, a cluster in any."""
    path = tmp_path / "traffic.pcap"
    path.write_bytes(recorded_group(name).capture)
    exchanges = [each for each in decode_capture([path]) if isinstance(each, Exchange)]
    names = TopicNames()
    for each in exchanges:
        names.learn(Dissection(each))
    found = []
    for seed in range(4):
        draw = random.Random(seed)
        if seed:
            draw.shuffle(exchanges)
        events = CaptureEvents(names.name)
        for each in exchanges:
            events.add(Dissection(each))
        found.append(events.in_order())

    assert found[1:] == found[:1] * 3
    assert found[0] == events_of(name, tmp_path)
    kinds = {type(each) for each in found[0]}
    assert FetchBegan in kinds or EpochBeat in kinds


@pytest.mark.thorough
def test_the_first_of_many_fetches_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where the others are dropped on the way, as they take memory."""
    whole = events_of("reb_leave_kafkapython", tmp_path)
    monkeypatch.setattr(capture_events, "_MOST_FETCHES", 3)

    assert of_kind(FetchBegan, whole)
    assert events_of("reb_leave_kafkapython", tmp_path) == whole


def test_a_topic_that_has_more_partitions_is_told_once() -> None:
    """However often it was seen with either number."""
    events = CaptureEvents(lambda _: None)
    for second, count in ((70, 4), (1, 4), (71, 6), (140, 6), (75, 6), (2, 4)):
        at_ns = second * NS_PER_S
        fact = PartitionCount(at_ns, EvidencePlace("packet", None, second), "orders", count)
        events.add_sighting(GroupSighting(at_ns, second, 0, 0, fact))

    (seen,) = events.in_order()
    assert isinstance(seen, PartitionsSeen)
    assert (seen.evidence.at, seen.before, seen.after) == (71, 4, 6)


def test_numbers_of_partitions_that_only_repeat_take_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For days on an interface: when a number was first and last seen is what counts."""
    monkeypatch.setattr(capture_events, "_MOST_COUNTS", 8)
    events = CaptureEvents(TopicNames().name)
    for minute in range(200):
        evidence = EvidencePlace("packet", None, minute)
        fact = PartitionCount(minute * 60 * NS_PER_S, evidence, "orders", 4 if minute < 120 else 6)
        events.add_sighting(GroupSighting(fact.at_ns, minute, 0, 0, fact))
    assert len(list(events.sightings)) < 20
    (seen,) = events.in_order()
    assert isinstance(seen, PartitionsSeen)
    assert (seen.before, seen.after, seen.at_ns) == (4, 6, 120 * 60 * NS_PER_S)
