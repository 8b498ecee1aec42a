"""A group of kdiag's own, which commits offsets and has no members; removed on every way out.

    with probe_group(client) as group:
        group.coordinator_id

Source: Kafka's FindCoordinator, DeleteGroups (KIP-229).
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.errors import AuthorizationError, KdiagError, ProbeError
from kdiag.probe.coordinator.search import coordinator_request
from kdiag.probe.pause import pause
from kdiag.probe.topic import CLEANUP_NS, PREFIX
from kdiag.wire.api.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorResponse
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import error_name

_PATIENCE_NS: Final = 10_000_000_000
_RETRY_NS: Final = 100_000_000
_AGAIN: Final = frozenset(("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"))
_GONE: Final = frozenset(("NONE", "GROUP_ID_NOT_FOUND"))


class ProbeGroup(NamedTuple):
    """A group.

    Attributes:
        name: its name.
        coordinator_id: the broker that coordinates it.
    """

    name: str
    coordinator_id: int


@contextmanager
def probe_group(client: ClusterClient) -> Iterator[ProbeGroup]:
    """Find the coordinator of a new group, and remove the group at the end.

    The cluster makes its topic of offsets if it has none yet.

    Args:
        client: connected; used for the group alone, so that it is not busy when the group goes.

    Raises:
        AuthorizationError: if this user may not have groups.
        ProbeError: if there is no coordinator, or the group cannot be removed.
        KdiagError: if no broker can be asked.
    """
    group = _find(client, PREFIX + secrets.token_hex(4))
    try:
        yield group
    finally:
        _remove(client, group)


def _find(client: ClusterClient, name: str) -> ProbeGroup:
    until_ns = min(client.clock.monotonic_ns() + _PATIENCE_NS, client.deadline_ns)
    request = coordinator_request(CoordinatorKind.GROUP, [name])
    while True:
        said = client.ask_any(request, FindCoordinatorResponse)
        first = said.coordinators[0] if said.coordinators else said
        error = error_name(first.error_code)
        if not first.error_code and first.node_id in client.cluster.brokers:
            return ProbeGroup(name, first.node_id)
        if error == "GROUP_AUTHORIZATION_FAILED":
            raise AuthorizationError(f"group {name}: not authorized to use it")
        if error not in _AGAIN or client.clock.monotonic_ns() + _RETRY_NS >= until_ns:
            raise ProbeError(f"group {name}", f"no broker coordinates it: {error}")
        pause(client, _RETRY_NS)


def _remove(client: ClusterClient, group: ProbeGroup) -> None:
    client.deadline_ns = max(client.deadline_ns, client.clock.monotonic_ns() + CLEANUP_NS)
    request = DeleteGroupsRequest([group.name])
    try:
        answer = client.ask(
            group.coordinator_id, request, DeleteGroupsResponse, timeout_ns=CLEANUP_NS
        )
    except KdiagError as failure:
        raise ProbeError(f"group {group.name}", f"remove it yourself: {failure}") from failure
    error = error_name(answer.results[0].error_code)
    if error not in _GONE:
        raise ProbeError(f"group {group.name}", f"remove it yourself, for it could not be: {error}")
