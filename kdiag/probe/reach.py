"""Refuses clusters whose brokers all advertise addresses that cannot be used from here.

A bootstrap server that answers proves nothing: clients use the addresses that brokers advertise
from then on. Without this, a probe would wait in vain and blame what never had a chance.
"""

from collections.abc import Iterable
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_S
from kdiag.errors import AdvertisedAddressError, ConnectError

REACH_NS: Final = 2 * NS_PER_S
"""How long all connections together may take."""

_PART: Final = 3
"""Which part of the time they may take: one broker that hangs leaves the rest to the others."""


def require_reachable(client: ClusterClient, nodes: Iterable[int] | None = None) -> None:
    """Connect to brokers at their advertised addresses, and refuse if none of them can be used.

    Args:
        client: connected.
        nodes: the brokers that matter; None for all.

    Raises:
        AdvertisedAddressError: if none can be used.
        AuthenticationError: if it is for the credentials, which are wrong everywhere.
    """
    wanted = {each.id for each in client.brokers} if nodes is None else set(nodes)
    left_ns = client.deadline_ns - client.clock.monotonic_ns()
    errors = client.reach_all(timeout_ns=min(REACH_NS, left_ns // _PART))
    failed = [(node_id, errors.get(node_id)) for node_id in sorted(wanted)]
    if not failed or any(error is None for _, error in failed):
        return
    (first_id, first), *others = ((node_id, error) for node_id, error in failed if error)
    assert isinstance(first, ConnectError)
    if type(first) is not ConnectError:
        raise first
    also = [f"broker {node_id} at {client.node(node_id).endpoint}" for node_id, _ in others]
    why = f"{first.why}; nor can {', '.join(also)}" if also else first.why
    raise AdvertisedAddressError(first_id, client.node(first_id).endpoint, first.layer, why)
