import pytest

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.model import CauseKind, GroupType
from kdiag.probe.rebalance.plan import CAUSES, MemberTimes, ProbeVariant, RebalancePlan
from tiers.cases import for_each

BEATS = "heartbeat.interval.ms"
OF_BROKER = "group.consumer.heartbeat.interval.ms"
TIMES = MemberTimes(6 * NS_PER_S, 2 * NS_PER_S, NS_PER_S)


def plan(protocol: GroupType = GroupType.CLASSIC, *, is_static: bool = False) -> RebalancePlan:
    """Return a plan for groups of a protocol."""
    return RebalancePlan(ProbeVariant(protocol, "range"), TIMES, 4, 12, is_static)


@for_each(
    ("protocol", "assignor", "word", "name"),
    [
        (GroupType.CLASSIC, "range", "eager", "range (eager)"),
        (GroupType.CLASSIC, "sticky", "eager", "sticky (eager)"),
        (
            GroupType.CLASSIC,
            "cooperative-sticky",
            "cooperative",
            "cooperative-sticky (cooperative)",
        ),
        (GroupType.CONSUMER, "range", "incremental", "range (KIP-848)"),
        (GroupType.CONSUMER, None, "incremental", "consumer (KIP-848)"),
    ],
)
def test_the_assignor_says_what_happens_to_partitions(
    protocol: GroupType, assignor: str | None, word: str, name: str
) -> None:
    """In classic groups; brokers always move those alone that must."""
    variant = ProbeVariant(protocol, assignor)
    assert (variant.rebalance_protocol, variant.name) == (word, name)


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [
        (GroupType.CLASSIC, [BEATS, "session.timeout.ms", BEATS, "metadata.max.age.ms", BEATS]),
        (
            GroupType.CONSUMER,
            [OF_BROKER, "group.consumer.session.timeout.ms", OF_BROKER, OF_BROKER, OF_BROKER],
        ),
    ],
)
def test_a_setting_decides_how_late_each_cause_is_noticed(
    protocol: GroupType, settings: list[str]
) -> None:
    """The coordinator tells members with their heartbeats alone, and waits for those that crash."""
    assert [plan(protocol).waits_for(each) for each in CAUSES] == settings
    assert plan(protocol).waits_for(None) is None


def test_a_static_member_that_leaves_is_waited_for_in_a_classic_group() -> None:
    """It does not say that it leaves."""
    classic, consumer = (
        plan(each, is_static=True) for each in (GroupType.CLASSIC, GroupType.CONSUMER)
    )
    assert classic.waits_for(CauseKind.MEMBER_LEFT) == "session.timeout.ms"
    assert consumer.waits_for(CauseKind.MEMBER_LEFT) == "group.consumer.heartbeat.interval.ms"


def test_patience_covers_all_that_a_step_may_wait_for() -> None:
    """A session, metadata, some heartbeats, and half a minute."""
    assert plan().patience_ns == (6 + 1 + 4 * 2 + 30) * NS_PER_S
