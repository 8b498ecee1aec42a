"""Producer ids: each is given once in the cluster, also after a restart.

A node takes a block of a thousand from the controller and gives them one by one; what is left of a
block when the node stops is never given.

    node 1    0, 1, 2 ... of 0 to 999        node 2    1000, 1001 ... of 1000 to 1999

Source: Kafka's `ProducerIdManager`.
"""

from threading import Lock
from typing import TYPE_CHECKING

from kdiag.lab.controller.quorum_controller import QuorumController

if TYPE_CHECKING:
    from collections.abc import Iterator


class ProducerIds:
    """The ids that a node gives to producers; from any thread."""

    def __init__(self, controller: QuorumController) -> None:
        """Have no block yet: the first producer that asks needs one."""
        self._controller = controller
        self._lock = Lock()
        self._block: Iterator[int] = iter(())

    def __repr__(self) -> str:
        return f"<ProducerIds of {self._controller!r}>"

    def generate(self) -> int:
        """Return an id that nobody else was or will be given.

        Raises:
            LogFileError: if the controller cannot write down that it was given.
        """
        with self._lock:
            producer_id = next(self._block, None)
            if producer_id is None:
                self._block = iter(self._controller.allocate_producer_ids())
                producer_id = next(self._block)
            return producer_id
