"""The partitions of a request: topics by name, or by id from some version on (KIP-516).

    orders            -> its name, whether there is such a topic or not
    an id             -> the name of the topic that has it, or UNKNOWN_TOPIC_ID

A response names topics as the request does: an id stands where an id was given.
"""

from typing import Final, NamedTuple

from kdiag.lab.api.call import ApiCall
from kdiag.wire.schema import ZERO_UUID

UNKNOWN_TOPIC_ID: Final = "UNKNOWN_TOPIC_ID"


class RequestedTopic(NamedTuple):
    """A topic as a request names it.

    Attributes:
        name: its name; empty if nobody knows its id.
        topic_id: its id; zeros in a request by name.
    """

    name: str
    topic_id: bytes

    @property
    def is_unknown_id(self) -> bool:
        """Return whether it was asked for by an id that no topic has."""
        return not self.name and self.topic_id != ZERO_UUID


def requested_topic(name: str, topic_id: bytes, call: ApiCall) -> RequestedTopic:
    """Return the topic that a request names.

    Args:
        name: its name, in a request by name.
        topic_id: its id; zeros in a request by name.
        call: the request's call.
    """
    if topic_id == ZERO_UUID:
        return RequestedTopic(name, topic_id)
    found = call.node.controller.image.topic_of(topic_id)
    return RequestedTopic("" if found is None else found.name, topic_id)
