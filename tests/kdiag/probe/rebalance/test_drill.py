"""A drill whose members cannot do what they shall; real ones are in tests/interop."""

from collections.abc import Iterator
from threading import Condition

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS
from kdiag.errors import ConfigError, KdiagError, ProbeError, RequestTimeoutError
from kdiag.probe.rebalance.drill import DrillTopics, RebalanceDrill
from kdiag.probe.rebalance.ownership import OwnershipLog
from kdiag.probe.rebalance.plan import RebalancePlan
from kdiag.probe.rebalance.probe_member import MemberMeans
from kdiag.probe.topic import ProbeTopicSettings, probe_topic
from scripted_kafka.writable_cluster import WritableCluster


@pytest.fixture
def writable() -> Iterator[WritableCluster]:
    """Return a broker that takes records, and coordinates nothing."""
    with WritableCluster(1) as cluster:
        yield cluster


def run(admin: ClusterClient, plan: RebalancePlan, failure: Exception) -> RebalanceDrill:
    """Run a drill whose members fail to connect."""

    def connect(*_: object) -> ClusterClient:
        raise failure

    settings = ProbeTopicSettings([1, 1])
    with probe_topic(admin, settings) as main, probe_topic(admin, settings) as other:
        log = OwnershipLog(main.name)

        def join(*_: object) -> None:
            raise AssertionError("there is nobody to join")

        means = MemberMeans(connect, join, log, Condition(), admin.clock)  # type: ignore[arg-type]
        drill = RebalanceDrill(admin, plan, DrillTopics(main, other), means)
        drill.run()
        return drill


@pytest.mark.parametrize("plan", ["classic"], indirect=True)
@pytest.mark.parametrize(
    ("failure", "raised", "text"),
    [
        (ConfigError("ssl.truststore", "-X", "no file"), ConfigError, "no file"),
        (ZeroDivisionError("oops"), ProbeError, "member probe-1: has failed.*oops"),
    ],
)
def test_a_member_that_fails_ends_the_drill(
    writable: WritableCluster,
    plan: RebalancePlan,
    failure: Exception,
    raised: type[KdiagError],
    text: str,
) -> None:
    """With its own error; the topics go, each had its record."""
    with writable.client() as admin, pytest.raises(raised, match=text):
        run(admin, plan, failure)
    assert writable.logs == {}
    assert len(writable.acks) == 2


@pytest.mark.parametrize("plan", ["classic"], indirect=True)
def test_a_drill_ends_when_its_time_is_up(writable: WritableCluster, plan: RebalancePlan) -> None:
    """Whatever its members do at that moment."""
    with writable.client() as admin:
        admin.deadline_ns = admin.clock.monotonic_ns() + 300 * NS_PER_MS
        with pytest.raises((RequestTimeoutError, ConfigError)):
            run(admin, plan, ConfigError("x", "-X", "y"))


@pytest.mark.parametrize("plan", ["classic"], indirect=True)
def test_a_partition_that_takes_no_record_is_told(
    writable: WritableCluster, plan: RebalancePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members could not read it."""
    monkeypatch.setattr("kdiag.probe.rebalance.drill._CREATION_NS", 0)
    writable.refusals["Produce"] = "NOT_LEADER_OR_FOLLOWER"
    with writable.client() as admin, pytest.raises(ProbeError, match="partition 0 takes no record"):
        run(admin, plan, ConfigError("x", "-X", "y"))
