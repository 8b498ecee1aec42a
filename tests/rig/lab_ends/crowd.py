"""Many clients of a lab in a process of its own: idle connections, and members of a group.

    with Crowd(port, pid) as crowd:
        crowd.connect(2000)         each asks for the versions once, and stays
        crowd.join(200)             one classic group, all in one generation
        cost = crowd.heartbeat()    one from each member: CPU time of the lab, and wall time

All of it is this process's one thread; a request is sent to every connection before the first
response is read.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple, Self

from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kdiag.wire.api.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from lab_ends.one_coordinator import subscription

GROUP: Final = "crowd"
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class CrowdCost(NamedTuple):
    """What something took.

    Attributes:
        cpu_s: CPU time of the lab.
        wall_s: until the last response was there.
    """

    cpu_s: float
    wall_s: float


class _Member(NamedTuple):
    client: LabClient
    member_id: str
    generation_id: int


class Crowd:
    """Clients, while a `with` block lasts."""

    def __init__(self, port: int, pid: int) -> None:
        """Begin without clients.

        Args:
            port: of the lab.
            pid: of its process.
        """
        self._port = port
        self._stat = Path(f"/proc/{pid}/stat")
        self._closing = ExitStack()
        self.idle: list[LabClient] = []
        self.members: list[_Member] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def connect(self, count: int) -> CrowdCost:
        """Open connections that stay idle."""
        return self._measured(lambda: self.idle.extend(self._clients(count)))

    def ask_idle(self) -> CrowdCost:
        """Have every idle connection ask once: all are held."""

        def ask() -> None:
            request = ApiVersionsRequest(client_software_name="crowd", client_software_version="1")
            for each in self.idle:
                each.send(request, 3)
            for each in self.idle:
                assert error_name(each.receive(ApiVersionsResponse, 3).error_code) == "NONE"

        return self._measured(ask)

    def join(self, count: int) -> CrowdCost:
        """Have members join one group, until all are in one generation and have an assignment."""
        return self._measured(lambda: self._join(self._clients(count)))

    def heartbeat(self) -> CrowdCost:
        """Have every member say once that it lives."""

        def beat() -> None:
            for client, member_id, generation_id in self.members:
                request = HeartbeatRequest(
                    group_id=GROUP, member_id=member_id, generation_id=generation_id
                )
                client.send(request, 4)
            for client, *_ in self.members:
                assert error_name(client.receive(HeartbeatResponse, 4).error_code) == "NONE"

        return self._measured(beat)

    def _clients(self, count: int) -> list[LabClient]:
        return [self._closing.enter_context(LabClient(self._port)) for _ in range(count)]

    def _join(self, clients: list[LabClient]) -> None:
        ask = FindCoordinatorRequest(coordinator_keys=[GROUP])
        while True:
            (found,) = clients[0].ask(ask, FindCoordinatorResponse, 4).coordinators
            if error_name(found.error_code) == "NONE":
                break
        for client in clients:
            client.send(_join_request(""), 9)
        ids = [client.receive(JoinGroupResponse, 9).member_id for client in clients]
        for client, member_id in zip(clients, ids, strict=True):
            client.send(_join_request(member_id), 9)
        joined = [client.receive(JoinGroupResponse, 9) for client in clients]
        (generation,) = {each.generation_id for each in joined}
        assert {error_name(each.error_code) for each in joined} == {"NONE"}
        self.members = [
            _Member(client, member_id, generation)
            for client, member_id in zip(clients, ids, strict=True)
        ]
        self._sync(joined[0].leader)

    def _sync(self, leader: str) -> None:
        given = [
            SyncGroupRequestAssignment(member_id=each.member_id, assignment=each.member_id.encode())
            for each in self.members
        ]
        for client, member_id, generation in self.members:
            request = SyncGroupRequest(
                group_id=GROUP,
                generation_id=generation,
                member_id=member_id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=given if member_id == leader else [],
            )
            client.send(request, 5)
        for client, member_id, _ in self.members:
            assert client.receive(SyncGroupResponse, 5).assignment == member_id.encode()

    def _measured(self, do: Callable[[], None]) -> CrowdCost:
        before_s, start_s = self._cpu_s(), perf_counter()
        do()
        return CrowdCost(self._cpu_s() - before_s, perf_counter() - start_s)

    def _cpu_s(self) -> float:
        fields = self._stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _join_request(member_id: str) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription("orders"))],
    )
