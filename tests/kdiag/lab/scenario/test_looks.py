import pytest

from kdiag.clock import SystemClock
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.looks import LabLooks
from kdiag.lab.scenario.scenario import WantedFinding


@pytest.mark.thorough
def test_each_look_tells_what_its_command_tells(lab: KafkaLab) -> None:
    """Of a lab in order nothing; of a group that is not there that it is not."""
    looks = LabLooks(lab, SystemClock())
    for by in ("check", "txn", "find-coordinator", "rebalance", "decode"):
        told = looks.at(WantedFinding(by=by, finding="KD1501"))
        assert [each.text for each in told] == [], by
    told = looks.at(WantedFinding(by="groups", finding="KD3401", group="billing"))
    assert [each.kind for each in told] == ["KD3401"]


def test_what_was_looked_at_is_not_looked_at_again(lab: KafkaLab) -> None:
    """Two findings of one look are of one moment."""
    looks = LabLooks(lab, SystemClock())
    first = looks.at(WantedFinding(by="check", finding="KD1501", topic="none"))
    assert [each.kind for each in first] == ["KD2005"]
    assert looks.at(WantedFinding(by="check", finding="KD2005", topic="none")) is first
