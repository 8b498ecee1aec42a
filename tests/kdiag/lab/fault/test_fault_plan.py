from collections.abc import Callable

from kdiag.clock import NS_PER_MS
from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan, PlannedEffect
from kdiag.lab.fault.grammar import parse_fault
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.produce import ProduceRequest


def plan(call: FaultCall, *texts: str) -> FaultPlan:
    """Return a plan of faults."""
    rules = [parse_fault(each) for each in texts]
    return FaultPlan(call, tuple(PlannedEffect(each.match, each.effect, 5) for each in rules))


def test_delays_add_up_and_the_first_of_others_decides(call_of: Callable[..., FaultCall]) -> None:
    """Jitter is a part of the delay."""
    made = plan(call_of(ProduceRequest()), "delay=1ms close=after", "delay=2ms close=before")
    assert made.answer_delay_ns == 3 * NS_PER_MS + 10
    assert made.first("close") == "after"
    assert made.first("stall_bytes") is None
    assert plan(made.call, "coalesce=2", "coalesce=3").most("coalesce") == 3


def test_a_slow_disk_concerns_what_reads_and_writes(call_of: Callable[..., FaultCall]) -> None:
    """And nothing else."""
    for request, delay_ns in ((ProduceRequest(), NS_PER_MS), (HeartbeatRequest(), 0)):
        assert plan(call_of(request), "slow_disk=1ms").handling_delay_ns == delay_ns


def test_versions_that_are_told_are_those_that_are_spoken(
    call_of: Callable[..., FaultCall],
) -> None:
    """Others are refused."""
    text = "api_versions=Produce:3-8,Fetch:none"
    assert not plan(call_of(ProduceRequest(), 8), text).is_refused_version
    assert plan(call_of(ProduceRequest(), 9), text).is_refused_version
    assert not plan(call_of(HeartbeatRequest(), 4), text).is_refused_version


def test_throttles_and_dead_connections(call_of: Callable[..., FaultCall]) -> None:
    """Are those of any fault."""
    made = plan(call_of(ProduceRequest()), "throttle=5ms", "half_open")
    assert (made.throttle_ns, made.is_half_open) == (5 * NS_PER_MS, True)
    assert not plan(made.call).is_half_open
