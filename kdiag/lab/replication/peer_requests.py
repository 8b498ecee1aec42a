"""What a node asks of the others: how it sends them requests, whoever carries them.

    send(2, FETCH, FetchRequest(...), handle_response)
    handle_response(FetchResponse(...))        later, in the node's thread
    handle_response(None)                      broker 2 runs no more, or does not answer

A request waits for the one before it that was sent to the same node for the same purpose. What may
take long, as a fetch that waits for records, has a purpose of its own, and holds up nobody else.

Source: Kafka's `BlockingSend`, `InterBrokerSendThread`.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

from kdiag.wire.schema import Struct

HandleResponse = Callable[[Any], None]
"""Gets the response, or None if there will be none; called once."""


class Purpose(Enum):
    """What a connection to another node is for."""

    FETCH = "fetch"
    """A follower fetches; the leader lets it wait for records."""
    OFFSETS = "offsets"
    """A follower asks where the leader's log begins and ends."""
    TRANSACTIONS = "transactions"
    """Coordinators write markers, leaders ask for transactions."""


SendToNode = Callable[[int, Purpose, Struct, HandleResponse], None]
"""Sends a request to a node, and hands over its response; all calls come from the node's thread."""


def send_nowhere(
    _node_id: int, _purpose: Purpose, _request: Struct, handle: HandleResponse
) -> None:
    """Send nothing: a node that is alone."""
    handle(None)
