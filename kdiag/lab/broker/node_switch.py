"""Brokers of a lab that are stopped and started from outside, one after the other.

    switch.listed()            [{"node_id": 1, "state": "running", "leads": 4}, ...]
    switch.switch(2, "kill")   {"node_id": 2, "state": "stopped", "leads": 0}

What can be done to a broker is to `stop` it in an orderly way, to `kill` it, and to `start` it
again. Any thread may ask; whoever comes second waits.
"""

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from kdiag.errors import ConfigError
from kdiag.lab.broker.lab_cluster import LabCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RUNNING: Final = "running"
STOPPED: Final = "stopped"


class NodeSwitch:
    """Stops and starts the brokers of a lab."""

    def __init__(self, lab: LabCluster) -> None:
        """Do nothing yet.

        Args:
            lab: runs, and as long as this is used.
        """
        self._lab = lab
        self._lock = Lock()
        self._actions: Mapping[str, Callable[[int], object]] = {
            "stop": lab.stop_node,
            "kill": partial(lab.stop_node, is_clean=False),
            "start": lab.start_node,
        }

    def __repr__(self) -> str:
        return f"<NodeSwitch of {self._lab!r}>"

    def listed(self) -> list[dict[str, Any]]:
        """Return each broker: its id, its state, and how many partitions it leads."""
        return [self._document(node_id) for node_id in self._lab.node_ids]

    def switch(self, node_id: int, action: str) -> dict[str, Any]:
        """Stop, kill or start a broker, and return it.

        Raises:
            ConfigError: if there is no such broker or action, or it is in that state already.
            ConnectError: if its port was taken meanwhile.
            LogFileError: if its folder cannot be used.
        """
        if node_id not in self._lab.node_ids:
            raise ConfigError(str(node_id), "broker", "there is none")
        known = self._actions.get(action)
        if known is None:
            names = ", ".join(self._actions)
            raise ConfigError(action, "action", f"expected one of {names}")
        with self._lock:
            known(node_id)
        return self._document(node_id)

    def _document(self, node_id: int) -> dict[str, Any]:
        is_running = any(each.node_id == node_id for each in self._lab.nodes)
        topics = self._lab.controller.image.topics.values()
        led = sum(each.leader == node_id for topic in topics for each in topic.partitions)
        return {"node_id": node_id, "state": RUNNING if is_running else STOPPED, "leads": led}
