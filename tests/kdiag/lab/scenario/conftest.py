"""A lab with a topic, and what clients of a scenario need to begin."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kdiag.clock import NS_PER_S, SystemClock
from kdiag.lab.broker.lab_cluster import LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.lab_moments import LabWatch

AT_ONCE: Final = GroupCoordinatorConfig(group_initial_rebalance_delay_ms=0)


@pytest.fixture
def watch() -> LabWatch:
    """Return what counts the requests of the lab, and waits for a minute at the most."""
    clock = SystemClock()
    return LabWatch(clock, clock.monotonic_ns() + 60 * NS_PER_S)


@pytest.fixture
def lab(tmp_path: Path, watch: LabWatch) -> Iterator[KafkaLab]:
    """Return a lab."""
    names = ("orders", "__consumer_offsets", "__transaction_state")
    topics = tuple(NewTopic(each, 1) for each in names)
    settings = LabSettings(topics=topics, group_config=AT_ONCE, on_request=watch.on_request)
    with KafkaLab(settings, tmp_path) as running:
        yield running


@pytest.fixture
def deadline_ns() -> int:
    """Return when clients end at the latest."""
    return SystemClock().monotonic_ns() + 60 * NS_PER_S
