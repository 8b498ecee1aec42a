"""A lab holds many idle connections and large groups; `KDIAG_EXHAUSTIVE=1` takes all of them."""

import signal
import subprocess
import sys
from typing import Final

import pytest

from lab_ends.crowd import Crowd, CrowdCost
from programs.kdiag_program import start_kdiag
from tiers.sampling import IS_EXHAUSTIVE

pytestmark = pytest.mark.soak

CONNECTIONS: Final = 2000 if IS_EXHAUSTIVE else 100
MEMBERS: Final = 200 if IS_EXHAUSTIVE else 20
ROUNDS: Final = 10
HEARTBEAT_INTERVAL_S: Final = 3
"""`heartbeat.interval.ms` of clients."""


def test_many_clients_are_held() -> None:
    """A round of heartbeats takes one core less than the time until the next one."""
    facts = ("-t", "orders:1", "-X", "group.initial.rebalance.delay.ms=1000")
    with start_kdiag("lab", *facts, stdout=subprocess.PIPE) as lab:
        assert lab.stdout is not None
        port = int(lab.stdout.readline().decode().rpartition(":")[2])
        costs: dict[str, CrowdCost] = {}
        with Crowd(port, lab.pid) as crowd:
            costs["connect"] = crowd.connect(CONNECTIONS)
            costs["join"] = crowd.join(MEMBERS)
            beats = [crowd.heartbeat() for _ in range(ROUNDS)]
            costs["a round of heartbeats"] = CrowdCost(
                sum(each.cpu_s for each in beats) / ROUNDS, max(each.wall_s for each in beats)
            )
            costs["all connections ask"] = crowd.ask_idle()
        lab.send_signal(signal.SIGINT)
        lab.communicate()
    for name, cost in costs.items():
        sys.stdout.write(f"{name}: {cost.cpu_s:.3f} s CPU, {cost.wall_s:.2f} s\n")
    assert costs["a round of heartbeats"].cpu_s < HEARTBEAT_INTERVAL_S
