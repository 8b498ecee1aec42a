"""Many connections are made at once, each up to the first answer."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from client_ends.client_peers import closed_port, full_server, silent_server
from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import timed_client
from kdiag.client.network.metadata import Node
from kdiag.clock import SystemClock
from kdiag.diagnosis.check.facts import CheckStep, Visit
from kdiag.errors import Fault, Layer
from kdiag.net.address import resolve
from kdiag.probe.check.attempts import ConnectionAttempts
from kdiag.wire.api.metadata import MetadataResponse
from scripted_kafka.foreign_server import HTTP, saying
from scripted_kafka.scripted_broker import CLOSE, HOLD, Received, ScriptedBroker, offering

S_NS = 1_000_000_000


@contextmanager
def visits() -> Iterator[ConnectionAttempts]:
    """Return visits by a client without settings."""
    config = load_config(ConfigSources(properties=["bootstrap.servers=127.0.0.1:1"]))
    client, timed = timed_client(config, SystemClock())
    with client:
        yield ConnectionAttempts(client, timed)


def node(port: int, node_id: str = "1") -> Node:
    """Return a node on loopback, looked up already."""
    (address,) = resolve("127.0.0.1", port)
    return Node(node_id, "127.0.0.1", port, address)


def visited(port: int, limit_ns: int = 5 * S_NS) -> Visit:
    """Return how the visit to a port has ended."""
    with visits() as some:
        some.begin([node(port)])
        some.run(limit_ns)
        return some.result("1")


def test_a_visit_that_goes_well_has_a_time_for_every_step() -> None:
    """Plaintext has no TLS and no SASL; the answers are kept."""
    with ScriptedBroker() as broker:
        broker.on("Metadata", MetadataResponse(cluster_id="here"))
        visit = visited(broker.port)

    assert list(visit.took_ns) == [CheckStep.TCP, CheckStep.API_VERSIONS, CheckStep.METADATA]
    assert all(took_ns > 0 for took_ns in visit.took_ns.values())
    assert visit.error is None
    assert visit.versions is not None
    assert visit.metadata is not None
    assert visit.metadata.cluster_id == "here"


def test_a_closed_port_fails_at_tcp() -> None:
    """At once."""
    visit = visited(closed_port())

    assert visit.error is not None
    assert (visit.failed_step, visit.error.fault) == (CheckStep.TCP, Fault.REFUSED)
    assert (dict(visit.took_ns), visit.failed_ns > 0) == ({}, True)


def test_dropped_packets_are_given_up_when_the_time_is_up() -> None:
    """Still in TCP."""
    with full_server() as port:
        visit = visited(port, S_NS // 5)

    assert visit.error is not None
    assert (visit.failed_step, visit.error.fault) == (CheckStep.TCP, Fault.DROPPED)
    assert visit.failed_ns >= S_NS // 5


def test_silence_is_given_up_when_the_time_is_up() -> None:
    """With the step that waited."""
    with silent_server() as port:
        visit = visited(port, S_NS // 5)

    assert visit.error is not None
    assert (visit.failed_step, visit.error.fault) == (CheckStep.API_VERSIONS, Fault.SILENT)
    assert list(visit.took_ns) == [CheckStep.TCP]


def test_a_foreign_protocol_is_named() -> None:
    """As for every client."""
    with saying(HTTP) as port:
        visit = visited(port)

    assert visit.error is not None
    assert (visit.error.fault, visit.error.layer) == (Fault.NOT_KAFKA, Layer.KAFKA)


@pytest.mark.thorough
@pytest.mark.parametrize(("reply", "fault"), [(CLOSE, Fault.WANTS_SASL), (HOLD, Fault.SILENT)])
def test_metadata_that_does_not_come_is_a_step_of_its_own(reply: object, fault: Fault) -> None:
    """The versions are known by then, and stay known."""
    with ScriptedBroker() as broker:
        broker.on("Metadata", reply)  # type: ignore[arg-type]
        visit = visited(broker.port, S_NS)

    assert visit.error is not None
    assert (visit.failed_step, visit.error.fault) == (CheckStep.METADATA, fault)
    assert visit.versions is not None


def test_a_controller_is_told_from_a_broker() -> None:
    """It tells its versions, among which Metadata is not."""
    with ScriptedBroker() as controller:
        controller.on("ApiVersions", offering(Metadata=(0, -1)))
        visit = visited(controller.port)

    assert visit.error is not None
    assert (visit.failed_step, visit.error.fault) == (CheckStep.METADATA, Fault.CONTROLLER)


def test_the_first_answer_can_be_enough() -> None:
    """The others go on, and can be waited for afterwards."""
    with ScriptedBroker() as fast, ScriptedBroker() as slow, visits() as some:

        def answer_when_both_are_asked(asked: Received) -> None:
            slow.wait_for("Metadata")
            asked.reply(MetadataResponse(cluster_id="here"))

        fast.on("Metadata", answer_when_both_are_asked)
        slow.on("Metadata", HOLD)
        some.begin([node(slow.port, "1"), node(fast.port, "2")])
        before = some.first_answer
        some.run(5 * S_NS, until_first=True)
        answer, was_over = some.first_answer, some.is_over
        slow.wait_for("Metadata").reply(MetadataResponse())
        some.run(5 * S_NS)
        after, is_over = some.first_answer, some.is_over

    assert before is None
    assert answer is not None
    assert (answer[0].id, answer[1].cluster_id) == ("2", "here")
    assert (was_over, is_over) == (False, True)
    assert after == answer
