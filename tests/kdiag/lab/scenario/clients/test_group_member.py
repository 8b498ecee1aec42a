import pytest

from kdiag.clock import SystemClock
from kdiag.errors import ConfigError
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.clients.group_member import ScenarioMember
from kdiag.lab.scenario.clients.scenario_thread import config_of
from kdiag.lab.scenario.lab_moments import LabWatch
from kdiag.lab.scenario.scenario import GroupMoment, LabMoment, MemberClient
from kdiag.probe.rebalance.probe_member import MemberOrder


@pytest.mark.thorough
def test_members_of_both_protocols_join_and_leave(lab: KafkaLab, watch: LabWatch) -> None:
    """As they are told to."""
    for protocol in ("classic", "consumer"):
        wanted = MemberClient(name=protocol, group=protocol, topics=("orders",), protocol=protocol)
        config = config_of(lab.bootstrap, protocol)
        member = ScenarioMember(wanted, config, SystemClock())
        member.start()
        there = LabMoment(group=GroupMoment(name=protocol, members=1))
        watch.await_moment(there, lab, {})
        member.order(MemberOrder.LEAVE)
        gone = LabMoment(group=GroupMoment(name=protocol, members=0, state="Empty"))
        watch.await_moment(gone, lab, {})
        member.stop()
        assert (member.is_over, member.failure) == (True, None), protocol


def test_settings_that_contradict_each_other_are_refused(lab: KafkaLab) -> None:
    """Before it begins."""
    wanted = MemberClient(name="reader", group="billing", topics=("orders",))
    config = config_of(lab.bootstrap, "reader", {"heartbeat.interval.ms": 90_000})
    with pytest.raises(ConfigError, match="must be less than"):
        ScenarioMember(wanted, config, SystemClock())
