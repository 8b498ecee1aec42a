import json

import pytest

from kdiag.clock import NS_PER_MS, SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.broker.seed_records import SPREAD_NS, seed_records
from kdiag.lab.controller.quorum_controller import NewTopic
from programs.kdiag_program import kdiag


def tail(lab: LabCluster, topic: str) -> list[dict[str, object]]:
    """Return what is in a topic."""
    done = kdiag("tail", topic, "-b", lab.bootstrap, "--from-beginning", "-e", "--output", "json")
    assert done.code == 0
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.thorough
def test_topics_get_records_that_look_like_something(lab: LabCluster) -> None:
    """Keys, JSON, headers, times of the last hour; a customer is in one partition."""
    clock = SystemClock()
    assert seed_records(lab, 1200, clock) == {"orders": 1200}
    found = tail(lab, "orders")
    assert len(found) == 1200
    partitions: dict[object, set[object]] = {}
    for each in found:
        value = json.loads(str(each["value"]))
        assert value["customer"] == each["key"]
        assert 0 < value["total"] < 501
        assert [name for name, _ in each["headers"]] == ["source", "trace-id"]  # type: ignore[attr-defined]
        partitions.setdefault(each["key"], set()).add(each["partition"])
    assert all(len(each) == 1 for each in partitions.values())
    assert {partition for each in partitions.values() for partition in each} == {0, 1}


@pytest.mark.thorough
def test_topics_that_have_records_stay_as_they_are() -> None:
    """And the same topic gets the same ones each time."""
    clock = SystemClock()
    values = []
    for _ in range(2):
        with LabCluster(LabSettings((NewTopic("a", 1), NewTopic("b", 3)))) as lab:
            assert seed_records(lab, 5, clock) == {"a": 5, "b": 5}
            assert seed_records(lab, 5, clock) == {}
            (log,) = (
                partition.log
                for key, partition in lab.nodes[0].replicas.partitions.items()
                if key.topic == "a"
            )
            assert log.log_end_offset == 5
            values.append([each["value"] for each in tail(lab, "a")])
    assert values[0] == values[1]
    assert SPREAD_NS // NS_PER_MS == 3_600_000
