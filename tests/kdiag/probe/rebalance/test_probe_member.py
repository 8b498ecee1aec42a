"""A member in a thread, at a scripted coordinator."""

from collections.abc import Callable

import pytest

from kdiag.client.group.member import TopicSubscription
from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.model import GroupType
from kdiag.errors import ConfigError
from kdiag.probe.rebalance.plan import RebalancePlan
from kdiag.probe.rebalance.probe_member import MemberMeans, MemberOrder, ProbeMember
from kdiag.wire import api_keys
from scripted_kafka.joinable_cluster import JoinableCluster

ORDERS = TopicSubscription.of("orders")
LONG_NS = 30 * NS_PER_S


def wait_for(means: MemberMeans, condition: Callable[[], bool]) -> None:
    """Wait until a member has done something."""
    with means.changed:
        assert means.changed.wait_for(condition, 30)


def joined(cluster: JoinableCluster, means: MemberMeans) -> ProbeMember:
    """Return a member that owns and reads partition 1, and has sent a heartbeat."""
    cluster.give([1])
    member = ProbeMember("probe-1", means, ORDERS)
    member.start()
    wait_for(means, lambda: means.log.owners() == {1: {"probe-1"}} and means.log.is_read(2))
    wait_for(means, lambda: member.is_stable and member.heartbeat_ns > 0)
    return member


def test_a_member_reads_what_it_is_given(cluster: JoinableCluster, means: MemberMeans) -> None:
    """It keeps what was said, under its own name, and leaves when it is told to."""
    member = joined(cluster, means)
    member.order(MemberOrder.LEAVE)
    assert member.await_end(LONG_NS)

    assert means.log.owners() == {1: frozenset()}
    assert cluster.left_count == 1
    assert {each.client_id for each in member.exchanges} == {"probe-1"}
    keys = {each.api_key for each in member.exchanges}
    assert keys >= {api_keys.FIND_COORDINATOR, api_keys.FETCH}
    assert (member.failure, member.is_over) == (None, True)


def test_a_member_that_crashes_tells_nobody(cluster: JoinableCluster, means: MemberMeans) -> None:
    """Its partitions have no owner from then on, and its id is known still."""
    member = joined(cluster, means)
    member.order(MemberOrder.CRASH)
    assert member.await_end(LONG_NS)

    assert means.log.owners() == {1: frozenset()}
    assert cluster.left_count == 0
    assert member.member_id


@pytest.mark.thorough
def test_a_member_that_unsubscribes_gives_its_partitions_up(
    cluster: JoinableCluster, means: MemberMeans, plan: RebalancePlan
) -> None:
    """It joins again, or says so with its next heartbeat."""
    member = joined(cluster, means)
    cluster.add("other", 0)
    cluster.give([])
    member.order(MemberOrder.SUBSCRIBE, TopicSubscription.of("other"))
    wait_for(means, lambda: means.log.owners() == {1: frozenset()})
    member.order(MemberOrder.LEAVE)
    assert member.await_end(LONG_NS)

    if plan.variant.protocol is GroupType.CONSUMER:
        assert ["other"] in [each.subscribed_topic_names for each in cluster.beats]
    else:
        assert len(cluster.joins) > 1


def test_a_member_that_fails_says_why(means: MemberMeans) -> None:
    """Whoever waits for it raises that."""

    def refuse(*_: object) -> None:
        raise ConfigError("sasl.mechanism", "-X", "no")

    member = ProbeMember("probe-1", means._replace(connect=refuse), ORDERS)  # type: ignore[arg-type]
    member.start()
    wait_for(means, lambda: member.is_over)
    assert isinstance(member.failure, ConfigError)


def test_a_member_that_was_never_started_has_ended(means: MemberMeans) -> None:
    """Its end can be waited for all the same."""
    assert ProbeMember("probe-1", means, ORDERS).await_end(LONG_NS)
