"""A scripted coordinator with a topic, and what its members have in common."""

from collections.abc import Iterator
from threading import Condition

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import configured_client
from kdiag.client.network.observer import OnExchange
from kdiag.clock import NS_PER_MS, SystemClock
from kdiag.diagnosis.rebalance.model import GroupType
from kdiag.probe.rebalance.ownership import OwnershipLog
from kdiag.probe.rebalance.plan import MemberTimes, ProbeVariant, RebalancePlan
from kdiag.probe.rebalance.probe_member import MemberMeans
from kdiag.probe.rebalance.variants import joiner
from scripted_kafka.joinable_cluster import JOINED, JoinableCluster

TIMES = MemberTimes(30_000 * NS_PER_MS, 20 * NS_PER_MS, 1000 * NS_PER_MS)


@pytest.fixture
def cluster() -> Iterator[JoinableCluster]:
    """Return a broker with a topic of two partitions that have a record each."""
    with JoinableCluster() as cluster:
        for number in range(2):
            cluster.add("orders", number).append(b"a")
        yield cluster


@pytest.fixture(params=[GroupType.CLASSIC, GroupType.CONSUMER])
def plan(request: pytest.FixtureRequest) -> RebalancePlan:
    """Return the plan for one kind of group after the other."""
    assignor = "range" if request.param is GroupType.CLASSIC else "uniform"
    return RebalancePlan(ProbeVariant(request.param, assignor), TIMES, 3, 2)


@pytest.fixture
def means(cluster: JoinableCluster, plan: RebalancePlan) -> MemberMeans:
    """Return what members have in common."""
    clock = SystemClock()

    def connect(name: str, on_exchange: OnExchange) -> ClusterClient:
        words = [f"bootstrap.servers={cluster.bootstrap}", f"client.id={name}"]
        return configured_client(load_config(ConfigSources(properties=words)), clock, on_exchange)

    config = load_config(ConfigSources(properties=[f"bootstrap.servers={cluster.bootstrap}"]))
    log = OwnershipLog("orders")
    return MemberMeans(connect, joiner(plan, config, JOINED), log, Condition(), clock)
