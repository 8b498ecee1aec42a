"""Members of real groups of each type, as far as tests need them to be there.

Consumers are librdkafka's; of share and streams groups it is the first heartbeat that makes one.
"""

from contextlib import ExitStack
from typing import Any, Final

import confluent_kafka

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import configured_client
from kdiag.clock import SystemClock
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kdiag.wire.api.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    Topology,
)
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import Struct

MEMBER: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
_STILL_LOADING: Final = {
    CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"],
    CODE_BY_NAME["NOT_COORDINATOR"],
}


def client_of(bootstrap: str) -> ClusterClient:
    """Return a client that is not connected."""
    config = load_config(ConfigSources(properties=[f"bootstrap.servers={bootstrap}"]))
    return configured_client(config, SystemClock())


def join(
    group: str, bootstrap: str, running: ExitStack, topic: str, **settings: object
) -> confluent_kafka.Consumer:
    """Have a consumer of librdkafka join a group, until it has partitions."""
    options = {"bootstrap.servers": bootstrap, "group.id": group, **settings}
    consumer = confluent_kafka.Consumer({key.replace("_", "."): v for key, v in options.items()})
    running.callback(consumer.close)
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    return consumer


def join_share_group(group: str, bootstrap: str, topic: str) -> None:
    """Have a member join a share group."""
    request = ShareGroupHeartbeatRequest(group, MEMBER, 0, None, [topic])
    _join(bootstrap, group, request, ShareGroupHeartbeatResponse)


def join_streams_group(group: str, bootstrap: str, topic: str) -> None:
    """Have a member join a streams group."""
    request = StreamsGroupHeartbeatRequest(
        group_id=group,
        member_id=MEMBER,
        rebalance_timeout_ms=10_000,
        topology=Topology(1, [Subtopology("0", [topic])]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
        client_tags=[],
    )
    _join(bootstrap, group, request, StreamsGroupHeartbeatResponse)


def _join(bootstrap: str, group: str, request: Struct, answer: type[Struct]) -> None:
    """Send the first heartbeat of a member, once the coordinator is ready."""
    with client_of(bootstrap) as client:
        client.connect()
        code = _join_once(client, group, request, answer)
        while code in _STILL_LOADING:
            code = _join_once(client, group, request, answer)
    assert code == 0


def _join_once(client: ClusterClient, group: str, request: Struct, answer: type[Struct]) -> int:
    """Ask the coordinator of a group to take a member, and return the error code."""
    question = FindCoordinatorRequest(coordinator_keys=[group])
    named = client.ask_any(question, FindCoordinatorResponse).coordinators[0]
    if named.error_code:
        return CODE_BY_NAME["NOT_COORDINATOR"]
    body: Any = client.ask(named.node_id, request, answer)
    code: int = body.error_code
    return code
