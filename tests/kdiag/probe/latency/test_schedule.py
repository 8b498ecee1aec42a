from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.network.request import builder_of
from kdiag.probe.latency.connection import Ended, OwnConnection
from kdiag.probe.latency.schedule import Due, OpenLoopSchedule, ScheduledRun, connect, drain, run
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from scripted_kafka.scripted_broker import HOLD
from scripted_kafka.scripted_cluster import ScriptedCluster
from tiers.attempts import measure_again

MS = 1_000_000
ATTEMPTS = 20
ASK = builder_of(HeartbeatRequest())


class Heartbeats:
    """A load of two kinds.

    Attributes:
        sent: kind, when it was due and when it was sent.
        ended: how requests ended.
    """

    def __init__(self, client: ClusterClient) -> None:
        self.connections: Sequence[OwnConnection] = [
            OwnConnection(client, 1, purpose) for purpose in ("a", "b")
        ]
        self.sent: list[tuple[int, int, int]] = []
        self.ended: list[Ended] = []
        self._client = client

    def send(self, kind: int, due_ns: int) -> None:
        """Send a heartbeat."""
        self.sent.append((kind, due_ns, self._client.clock.epoch_ns()))
        self.connections[kind].ask(ASK, due_ns, self.ended.append)

    @property
    def is_done(self) -> bool:
        """Return whether all have ended."""
        return len(self.ended) == len(self.sent)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return a broker that answers heartbeats."""
    with ScriptedCluster(1) as cluster:
        cluster.on("Heartbeat", HeartbeatResponse())
        yield cluster


def ran(client: ClusterClient, load: Heartbeats, over_after: int | None = None) -> list[int]:
    """ScheduledRun a load of ten requests, 4 ms apart; return when something else had its turn."""
    start_ns = client.clock.epoch_ns() + 2 * MS
    schedule = OpenLoopSchedule(start_ns, 4 * MS, start_ns + 40 * MS, 2)
    turns: list[int] = []
    run(
        client,
        ScheduledRun(
            load,
            schedule,
            lambda: turns.append(client.clock.epoch_ns()),
            lambda: over_after is not None and len(load.sent) >= over_after,
        ),
    )
    return turns


def test_requests_are_sent_when_they_are_due(cluster: ScriptedCluster) -> None:
    """Never before, and half of them within a millisecond, unless others have the CPU."""

    def require_punctual() -> None:
        with cluster.client() as client:
            load = Heartbeats(client)
            connect(client, load.connections, client.clock.monotonic_ns() + 5000 * MS)
            turns = ran(client, load)
            late_ns = sorted(sent_ns - due_ns for _, due_ns, sent_ns in load.sent)
            assert drain(
                client, lambda: load.is_done, client.clock.monotonic_ns() + 5000 * MS, lambda: None
            )
        assert len(late_ns) == 10
        assert late_ns[0] >= 0
        assert [each.error for each in load.ended] == [None] * 10
        assert len(turns) >= 10
        assert late_ns[4] < MS

    measure_again(require_punctual, ATTEMPTS)


def test_answers_that_do_not_come_slow_nothing_down(cluster: ScriptedCluster) -> None:
    """What is due is sent; who waits for the answers waits as long as is said."""
    cluster.on("Heartbeat", HOLD)
    with cluster.client() as client:
        load = Heartbeats(client)
        connect(client, load.connections, client.clock.monotonic_ns() + 5000 * MS)
        ran(client, load)
        assert (len(load.sent), load.ended) == (10, [])
        until_ns = client.clock.monotonic_ns() + 30 * MS
        assert not drain(client, lambda: load.is_done, until_ns, lambda: None)
        assert client.clock.monotonic_ns() >= until_ns


def test_a_run_ends_when_it_is_over(cluster: ScriptedCluster) -> None:
    """Before its schedule does."""
    with cluster.client() as client:
        load = Heartbeats(client)
        ran(client, load, over_after=3)
    assert len(load.sent) == 3


def test_kinds_take_turns_and_the_order_rotates() -> None:
    """Two turns of three kinds."""
    schedule = OpenLoopSchedule(0, 10, 60, 3)
    kinds = [each.kind for each in schedule.pop_due(1000)]
    assert kinds == [0, 1, 2, 1, 2, 0]


def test_what_is_late_keeps_its_time() -> None:
    """Nobody asked for 25 units: what was due meanwhile is due all the same."""
    schedule = OpenLoopSchedule(100, 10, 1000, 1)
    assert schedule.pop_due(99) == []
    assert schedule.pop_due(100) == [Due(100, 0)]
    assert schedule.next_ns == 110
    assert schedule.pop_due(135) == [Due(110, 0), Due(120, 0), Due(130, 0)]


@pytest.mark.thorough
@given(st.integers(1, 50), st.integers(1, 5), st.integers(0, 500), st.lists(st.integers(0, 100)))
def test_a_schedule_does_not_depend_on_when_it_is_looked_at(
    interval_ns: int, kinds: int, length_ns: int, pauses_ns: list[int]
) -> None:
    """The same requests at the same times, each kind as often as any other."""
    looked, at_once = (OpenLoopSchedule(7, interval_ns, 7 + length_ns, kinds) for _ in range(2))
    now_ns, taken = 0, []
    for pause_ns in pauses_ns:
        now_ns += pause_ns
        taken += looked.pop_due(now_ns)
        assert all(each.due_ns <= now_ns for each in taken)
    taken += looked.pop_due(10_000)
    assert taken == at_once.pop_due(10_000)
    assert looked.next_ns is None
    assert len(taken) == -(-length_ns // interval_ns)
    counts = Counter(each.kind for each in taken[: len(taken) // kinds * kinds])
    assert len(set(counts.values())) <= 1
