"""What members and administrators ask a lab about one group, in any version.

asks.join()                        becomes its only member
asks.commit(5)                     commits an offset of orders-0
"""

from typing import Final

from kdiag.wire.api.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kdiag.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)
from kdiag.wire.api.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import ZERO_UUID
from lab_ends.lab_client import LabClient
from lab_ends.one_coordinator import GROUP, TOPIC, subscription

ASSIGNMENT: Final = b"orders-0"


class GroupAsks:
    """What is asked about a group.

    Attributes:
        client: asks.
        member_id: of its member.
        generation_id: likewise.
    """

    def __init__(self, client: LabClient) -> None:
        self.client = client
        self.member_id = ""
        self.generation_id = -1
        # One partition is made faster than the fifty that the first who asks would get.
        topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
        client.ask(CreateTopicsRequest(topics=[topic]), CreateTopicsResponse, 7)

    def join(self, version: int = 9, *, has_name: bool = False) -> JoinGroupResponse:
        """Join, with the id that it is given if it needs one."""
        response = JoinGroupResponse()
        for _ in range(2):
            request = JoinGroupRequest(
                group_id=GROUP,
                session_timeout_ms=30_000,
                rebalance_timeout_ms=30_000,
                member_id=self.member_id,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription("orders"))],
            )
            if has_name:
                request.group_instance_id = "first"
            response = self.client.ask(request, JoinGroupResponse, version)
            self.member_id = response.member_id or self.member_id
            if error_name(response.error_code) != "MEMBER_ID_REQUIRED":
                break
        self.generation_id = response.generation_id
        return response

    def sync(self, version: int = 5, **changes: object) -> SyncGroupResponse:
        """Bring the assignment, and get it."""
        given = SyncGroupRequestAssignment(member_id=self.member_id, assignment=ASSIGNMENT)
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation_id,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[given],
        )
        for name, value in changes.items():
            setattr(request, name, value)
        return self.client.ask(request, SyncGroupResponse, version)

    def commit(
        self,
        offset: int,
        version: int = 8,
        *,
        topic: str | bytes = "orders",
        partitions: tuple[int, ...] = (0,),
        metadata: str | None = "mine",
    ) -> list[OffsetCommitResponseTopic]:
        """Commit an offset of a topic, named or by id; as the member, if there is one."""
        request = OffsetCommitRequest(
            group_id=GROUP,
            topics=[
                OffsetCommitRequestTopic(
                    name="" if isinstance(topic, bytes) else topic,
                    topic_id=topic if isinstance(topic, bytes) else ZERO_UUID,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=each,
                            committed_offset=offset,
                            committed_metadata=metadata,
                        )
                        for each in partitions
                    ],
                )
            ],
        )
        if version:
            request.generation_id_or_member_epoch = self.generation_id
            request.member_id = self.member_id
        return self.client.ask(request, OffsetCommitResponse, version).topics
