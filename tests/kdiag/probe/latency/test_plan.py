from kdiag.probe.latency.plan import LatencyPlan, LatencyTarget


def test_each_broker_has_a_partition() -> None:
    """The first that it leads."""
    target = LatencyTarget("orders", bytes(16), {0: 3, 1: 1, 2: 3, 3: 1})
    assert target.nodes == [1, 3]
    assert (target.partition_of(1), target.partition_of(3)) == (1, 0)


def test_a_default_run_is_long_enough_for_the_99th_percentile() -> None:
    """Each of the three acks gets 500 requests; 368 are needed."""
    plan = LatencyPlan()
    assert plan.duration_ns // plan.interval_ns // len(plan.acks) == 500
