"""A member of a streams group that has tasks and does nothing with them.

    member = StreamsMember("localhost:9092", "app", "a", "clicks")
    member.start()
    member.end(leaves=True)

It sends the heartbeats of a Kafka Streams application with one subtopology, and has given up and
taken over tasks as soon as it is told to.
"""

import uuid
from threading import Event, Thread
from typing import Any, Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import configured_client
from kdiag.clock import SystemClock
from kdiag.probe.destination import Destination, Way, find_nodes
from kdiag.wire.api.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    Topology,
)
from kdiag.wire.error_code import error_name

_LEAVES: Final = -1
_BEAT_S: Final = 0.2
_AGAIN: Final = {"NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"}


class StreamsMember:
    """A member in a thread of its own."""

    def __init__(self, bootstrap: str, group: str, name: str, topic: str) -> None:
        words = [f"bootstrap.servers={bootstrap}", f"client.id={name}"]
        self._config = load_config(ConfigSources(properties=words))
        self._group = group
        self._topology = Topology(1, [Subtopology("0", [topic])])
        self._id = str(uuid.uuid4())
        self._epoch = 0
        self._tasks: list[TaskIds] = []
        self._is_over = Event()
        self._leaves = False
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Have it join."""
        self._thread.start()

    def end(self, *, leaves: bool) -> None:
        """Have it leave, or fall silent."""
        self._leaves = leaves
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        """Send heartbeats until it is over."""
        with configured_client(self._config, SystemClock()) as client:
            client.connect()
            while not self._is_over.is_set():
                self._beat(client, self._epoch)
                self._is_over.wait(_BEAT_S)
            if self._leaves:
                self._beat(client, _LEAVES)

    def _beat(self, client: ClusterClient, epoch: int) -> None:
        """Send a heartbeat, and have what the answer says."""
        is_first = epoch == 0
        request = StreamsGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._id,
            member_epoch=epoch,
            rebalance_timeout_ms=10_000 if is_first else -1,
            topology=self._topology if is_first else None,
            active_tasks=self._tasks,
            standby_tasks=[],
            warmup_tasks=[],
            process_id="p" if is_first else None,
            client_tags=[] if is_first else None,
        )
        body = self._answer(client, request)
        if body is None or error_name(body.error_code) in _AGAIN or epoch == _LEAVES:
            return
        assert not body.error_code, (error_name(body.error_code), body.error_message)
        self._epoch = body.member_epoch
        if body.active_tasks is not None:
            self._tasks = [
                TaskIds(each.subtopology_id, each.partitions) for each in body.active_tasks
            ]

    def _answer(self, client: ClusterClient, request: StreamsGroupHeartbeatRequest) -> Any:
        """Return the coordinator's answer; None while there is none, as right after the start."""
        for node in find_nodes(client, Destination(Way.COORDINATOR, self._group)).ids:
            return client.ask(node, request, StreamsGroupHeartbeatResponse)
        return None
