import pytest

from kdiag.errors import ConfigError
from kdiag.lab.broker.node_switch import NodeSwitch
from kdiag.lab.controller.quorum_controller import NewTopic
from lab_ends.several.stepped_lab import SteppedLab


@pytest.mark.thorough
def test_brokers_are_stopped_killed_and_started() -> None:
    """One that was killed leads until it is missed."""
    with SteppedLab(NewTopic("orders", assignments={0: (2, 1), 1: (3, 1)})) as lab:
        lab.turn(2)
        switch = NodeSwitch(lab)
        assert [each["leads"] for each in switch.listed()] == [0, 1, 1]
        assert switch.switch(2, "stop") == {"node_id": 2, "state": "stopped", "leads": 0}
        assert switch.switch(3, "kill") == {"node_id": 3, "state": "stopped", "leads": 1}
        lab.until_elected(3)
        assert [each["leads"] for each in switch.listed()] == [2, 0, 0]
        assert switch.switch(2, "start") == {"node_id": 2, "state": "running", "leads": 0}
        assert repr(switch) == "<NodeSwitch of <LabCluster of 2 brokers>>"


@pytest.mark.parametrize(
    ("node_id", "action", "why"),
    [
        (9, "stop", "there is none"),
        (1, "pause", "expected one of stop, kill, start"),
        (1, "start", "it was not stopped"),
    ],
)
def test_what_cannot_be_done_is_said(node_id: int, action: str, why: str) -> None:
    """And nothing has changed."""
    with SteppedLab() as lab:
        switch = NodeSwitch(lab)
        with pytest.raises(ConfigError, match=why):
            switch.switch(node_id, action)
        assert [each["state"] for each in switch.listed()] == ["running"] * 3
