from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.buffers.facts import LEFT_TO_KERNEL, LoadDirection, LoadKind
from kdiag.errors import ProbeError
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel
from kdiag.net.transport import PlaintextTransport
from kdiag.probe.buffers.load import Target
from kdiag.probe.buffers.path import look_at_paths
from kdiag.probe.buffers.proof import (
    Connector,
    Proof,
    ProofPlan,
    ProofProgress,
    ProofStep,
    steps_of,
)
from kdiag.wire.schema import ZERO_UUID
from made_values.buffer_cases import LIMITS
from scripted_kafka.loaded_cluster import LoadedCluster

MS = 1_000_000
KIB = 1 << 10
PRODUCE, FETCH = LoadDirection.PRODUCE, LoadDirection.FETCH
TARGET = Target(1, "load", ZERO_UUID, 0, {1: 0})
PLAN = ProofPlan(
    sizes=(32 * KIB, LEFT_TO_KERNEL),
    rounds=2,
    time_ns=20 * MS,
    max_bytes=1 << 34,
    bits_per_s=1_000_000_000,
    limits=LIMITS,
)
BY_BYTES = PLAN._replace(
    sizes=(256 * KIB, LEFT_TO_KERNEL), max_bytes=40 << 20, time_ns=100_000 * MS, rounds=1
)
"""Its runs end when they have moved enough, however busy the machine is; buffers of 32 KiB would
stall for 40 ms at a time over loopback."""


@pytest.fixture
def cluster() -> Iterator[LoadedCluster]:
    """Yield a broker."""
    with LoadedCluster() as brokers:
        yield brokers


def connector(client: ClusterClient) -> Connector:
    """Return what makes clients like this one."""

    def make(channel_id: str, sock: object, peer: str, _host: str) -> Channel:
        transport = PlaintextTransport(sock, peer)  # type: ignore[arg-type]
        return Channel(channel_id, transport, NoAuthenticator(), client.clock)

    return Connector(client, make)


def test_each_round_begins_with_another_size() -> None:
    """Both directions of a size follow each other; clients' defaults take turns with the sizes."""
    turns = [
        (LoadKind.FULL, 32 * KIB),
        (LoadKind.FULL, LEFT_TO_KERNEL),
        (LoadKind.DEFAULTS, LEFT_TO_KERNEL),
    ]
    first = [ProofStep(direction, *turn) for turn in turns for direction in (PRODUCE, FETCH)]

    assert list(steps_of(PLAN, TARGET)) == [*first, *first[2:], *first[:2]]


def test_only_what_can_be_tried_is_tried() -> None:
    """What must not be written to is read, and what is empty is written to."""
    reading = steps_of(PLAN, TARGET._replace(written_partition=None))
    writing = steps_of(PLAN, TARGET._replace(offsets={}))

    assert {each.direction for each in reading} == {FETCH}
    assert {each.direction for each in writing} == {PRODUCE}


def test_a_connection_has_the_buffers_that_are_to_be_tried(client: ClusterClient) -> None:
    """Each is made anew, and knows the cluster without asking."""
    with connector(client).connect(32 * KIB, 7, 5 * MS) as fresh:
        assert fresh.brokers == client.brokers
        assert fresh.reach_all() == {1: None}
        facts = fresh.socket_facts(1)

    assert facts is not None
    assert facts.effective_send_buffer_bytes == 32 * KIB
    assert facts.effective_receive_buffer_bytes == 32 * KIB
    assert fresh.settings.network.max_in_flight == 7


@pytest.mark.thorough
def test_a_proof_tries_everything_in_turn(client: ClusterClient, cluster: LoadedCluster) -> None:
    """It says what it is doing, and each run has a connection of its own."""
    told: list[ProofProgress] = []
    proof = Proof(connector(client), PLAN, told.append)
    (path,) = look_at_paths(client)
    before = cluster.brokers[1].connections
    proof.run(path, TARGET)

    steps = list(steps_of(PLAN, TARGET))
    runs = proof.runs[1]
    assert [ProofStep(each.direction, each.load, each.size_bytes) for each in runs] == steps
    assert [each.step for each in told] == steps
    assert [(each.number, each.total) for each in told] == [(n, 12) for n in range(1, 13)]
    assert cluster.brokers[1].connections == before + 12
    assert proof.moved_bytes == sum(each.total_bytes for each in runs)
    assert (proof.why_ended, proof.is_late) == (None, False)


@pytest.mark.thorough
def test_all_runs_share_what_may_be_moved(client: ClusterClient) -> None:
    """What one leaves the next may take."""
    proof = Proof(connector(client), BY_BYTES, lambda _: None)
    (path,) = look_at_paths(client)
    proof.run(path, TARGET)

    assert len(proof.runs[1]) == 6
    assert all(each.time_ns < BY_BYTES.time_ns / 2 for each in proof.runs[1])
    assert proof.moved_bytes < 60 << 20


def test_no_run_begins_that_may_not_move_enough(client: ClusterClient) -> None:
    """It would end before the connection is at its best: eight times what is on its way."""
    plan = PLAN._replace(max_bytes=19 * 1_000_000)
    proof = Proof(connector(client), plan, lambda _: None)
    (path,) = look_at_paths(client, 20 * MS)
    proof.run(path, TARGET)

    assert proof.runs == {1: []}
    assert proof.why_ended == "a run takes 20 MB, and fewer are left (--max-bytes)"
    assert not proof.is_late


def test_no_run_begins_that_cannot_end_in_time(client: ClusterClient) -> None:
    """What was measured before stands."""
    proof = Proof(connector(client), PLAN, lambda _: None)
    (path,) = look_at_paths(client)
    client.deadline_ns = client.clock.monotonic_ns() + 30 * MS
    proof.run(path, TARGET)

    assert proof.runs == {1: []}
    assert proof.is_late


def test_a_run_that_the_end_of_the_time_cuts_short_is_not_a_fault(
    client: ClusterClient, cluster: LoadedCluster
) -> None:
    """A request waits no longer than until then, and is not what failed."""
    proof = Proof(connector(client), PLAN, lambda _: None)
    (path,) = look_at_paths(client)
    cluster.on("ApiVersions", lambda _: None)
    client.deadline_ns = client.clock.monotonic_ns() + 150 * MS
    proof.run(path, TARGET)

    assert proof.runs == {1: []}
    assert proof.is_late


@pytest.mark.thorough
def test_a_run_that_fails_leaves_those_before_it(
    client: ClusterClient, cluster: LoadedCluster
) -> None:
    """Producing goes well, fetching does not."""
    cluster.errors["Fetch"] = "TOPIC_AUTHORIZATION_FAILED"
    proof = Proof(connector(client), BY_BYTES, lambda _: None)
    (path,) = look_at_paths(client)
    with pytest.raises(ProbeError, match="TOPIC_AUTHORIZATION_FAILED"):
        proof.run(path, TARGET)

    assert [each.direction for each in proof.runs[1]] == [PRODUCE]
