from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa
import pytest

from folders import CAPTURES
from kdiag.diagnosis.rebalance.capture.exchange_events import GroupSighting
from kdiag.diagnosis.rebalance.events import (
    Beat,
    Client,
    Event,
    JoinAnswered,
    JoinAsked,
    Subscription,
    SyncAnswered,
)
from kdiag.diagnosis.rebalance.model import EvidencePlace
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.pipeline.input.split import Split
from kdiag.pipeline.output.state_graph import decode_state, encode_state
from kdiag.pipeline.rows.group_rows import emit_group_rows, events_in
from kdiag.pipeline.streams.group_state import Parted, StreamGroups, ToldBatch, fetches_in
from kdiag.report.tables.catalog import TABLES
from kdiag.report.tables.groups import group_rows
from spark_runs.pipeline_parts import Tables, comparable, decoded, in_one_process

pytestmark = pytest.mark.thorough

_NS_PER_MINUTE = 60_000_000_000
_BATCHES, _EACH, _SILENT_FROM = 8, 300, 5
GENERATION = [each.name for each in TABLES["rebalances"].columns].index("generation")
_CLIENT = Client("c", "10.0.0.1", None, "10.0.0.1:4000-10.0.0.2:9092")


def told_in(frames: pa.RecordBatch) -> ToldBatch:
    """Return what frames tell."""
    return ToldBatch(list(events_in([frames], TopicNames()).sightings), [fetches_in([frames])])


def rows_of(parted: Parted, groups: StreamGroups) -> Tables:
    """Return the rows of what is live and of what is settled."""
    tables: Tables = defaultdict(list)
    for events in filter(None, (parted.settled, parted.live)):
        emit_group_rows(events, lambda name, batch: tables[name].append(batch), groups.capture_of)
    return tables


def kept(groups: StreamGroups) -> StreamGroups:
    """Return what the next batch reads of a state."""
    found = decode_state(encode_state(groups), "state")
    assert isinstance(found, StreamGroups)
    return found


def test_rows_of_groups_are_those_of_one_process_wherever_batches_are_cut() -> None:
    """Also if what came first is told last, as by a host whose captures are late."""
    capture = CAPTURES / "rebalance.pcap"
    frames = pa.Table.from_batches(decoded([capture], 1, 1 << 20)["frames"]).combine_chunks()
    expected = in_one_process([capture])
    for count in (1, 2, 7, 50):
        edges = [frames.num_rows * each // count for each in range(count + 1)]
        batches = [
            frames.slice(first, last - first).to_batches()[0] for first, last in pairwise(edges)
        ]
        for order in (batches, batches[::-1]):
            groups, tables = StreamGroups(), Tables()
            groups.learn_captures([Split(str(capture), 0, 1, b"", 1, 1 << 30, 0, 1)])
            for batch in order:
                groups = kept(groups)
                parted = groups.add(told_in(batch), TopicNames().name, None)
                tables = rows_of(parted, groups)
                groups.forget_packets()
            for table in ("rebalances", "members"):
                found = comparable(tables[table])
                assert found == comparable(expected[table]) != [], (table, count)
            causes = pa.Table.from_batches(tables["rebalances"]).to_pylist()
            assert {row["capture_file"] for row in causes if row["packet"]} == {str(capture)}


def generation_of(group: str, number: int, members: int, at_ns: int) -> Iterator[GroupSighting]:
    """Yield what a rebalance tells: all join and get their assignments."""
    for member in range(members):
        evidence = EvidencePlace("packet", None, at_ns // 1000 + member)
        name = f"m{member}"
        wanted = Subscription(frozenset({"t"}), ("range",))
        asked = JoinAsked(
            at_ns, group, evidence, _CLIENT, name, None, "consumer", wanted, 10, 10, None
        )
        answer = JoinAnswered(at_ns + 1, group, evidence, asked, None, name, number, "m0", None)
        synced = SyncAnswered(at_ns + 2, group, evidence, _CLIENT, name, number, None)
        facts: tuple[Event, ...] = asked, answer, synced
        for place, fact in enumerate(facts):
            yield GroupSighting(fact.at_ns, evidence.at, member, place, fact)


def beats_of(
    group: str, number: int, members: int, times_ns: Sequence[int]
) -> Iterator[GroupSighting]:
    """Yield quiet heartbeats of all members."""
    for at_ns in times_ns:
        for member in range(members):
            evidence = EvidencePlace("packet", None, at_ns // 1000 + member)
            fact = Beat(
                at_ns, group, evidence, _CLIENT, f"m{member}", number, None, is_answered=True
            )
            yield GroupSighting(at_ns, evidence.at, member, 0, fact)


def test_what_is_kept_of_groups_is_bounded() -> None:
    """By quiet heartbeats not at all; by rebalances up to a bound, and each has one row."""
    groups, names = StreamGroups(), TopicNames().name
    sizes, generations = [], []
    cut_count = silent_count = 0
    for batch in range(_BATCHES):
        start_ns = (batch + 1) * 60 * _NS_PER_MINUTE
        times = [start_ns + each * 3_000_000_000 for each in range(1, 100)]
        sightings = list(beats_of("quiet", 1, 3, times)) if batch < _SILENT_FROM else []
        for number in range(batch * _EACH + 1, batch * _EACH + _EACH + 1):
            at_ns = start_ns + (number - batch * _EACH) * 1_000
            sightings.extend(generation_of("busy", number, 4, at_ns))
        sightings.extend(beats_of("busy", batch * _EACH + _EACH, 4, times))
        parted = groups.add(ToldBatch(sightings, []), names, start_ns - 30 * _NS_PER_MINUTE)
        cut_count += parted.cut_count
        for events in (parted.settled, parted.live if batch == _BATCHES - 1 else None):
            rows = [] if events is None else list(group_rows(events.in_order()))
            silent_count += sum(row.table == "members" and row.cells[0] == "quiet" for row in rows)
            generations += [row.cells[GENERATION] for row in rows if row.table == "rebalances"]
        sizes.append(len(encode_state(groups)))

    assert (cut_count, silent_count) == (1, 3)
    assert sorted(generations) == list(range(1, _BATCHES * _EACH + 1))
    assert sizes[-1] < max(sizes) / 2
