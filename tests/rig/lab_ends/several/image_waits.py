"""Waiting until the controller of a lab knows something, in a lab whose brokers have threads.

until_image(lab.controller, lambda image: 2 not in image.brokers)
"""

from collections.abc import Callable
from threading import Event
from typing import Final

from kdiag.lab.controller.cluster_image import ClusterImage
from kdiag.lab.controller.quorum_controller import QuorumController

_DEADLINE_S: Final = 60


def until_image(controller: QuorumController, is_so: Callable[[ClusterImage], object]) -> None:
    """Wait until something is so."""
    has_come = Event()

    def look(image: ClusterImage) -> None:
        if is_so(image):
            has_come.set()

    controller.subscribe(look)
    try:
        assert has_come.wait(_DEADLINE_S), "it never was so"
    finally:
        controller.unsubscribe(look)
