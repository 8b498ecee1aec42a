"""A KRaft voter updates its endpoints and the KRaft versions it supports.

API key 82, version 0, flexible from 0.

Source: KIP-853.
"""

from typing import Annotated

import msgspec

from kdiag.wire.schema import (
    ZERO_UUID,
    BrokerId,
    Int16,
    Int32,
    String,
    Struct,
    Uint16,
    Uuid,
    message,
    tag,
)


class Listener(Struct):
    """One element of `listeners` in UpdateRaftVoterRequest."""

    name: String = ""
    host: String = ""
    port: Uint16 = 0


class KRaftVersionFeature(Struct):
    """The value of `k_raft_version_feature` in UpdateRaftVoterRequest."""

    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@message(api_key=82, versions="0", flexible="0+")
class UpdateRaftVoterRequest(Struct):
    """The request of UpdateRaftVoter."""

    cluster_id: String | None = ""
    current_leader_epoch: Int32 = 0
    voter_id: Int32 = 0
    voter_directory_id: Uuid = ZERO_UUID
    listeners: list[Listener] = []
    k_raft_version_feature: KRaftVersionFeature = msgspec.field(default_factory=KRaftVersionFeature)


class CurrentLeader(Struct):
    """The value of `current_leader` in UpdateRaftVoterResponse."""

    leader_id: BrokerId = -1
    leader_epoch: Int32 = -1
    host: String = ""
    port: Int32 = 0


@message(api_key=82, versions="0", flexible="0+")
class UpdateRaftVoterResponse(Struct):
    """The response of UpdateRaftVoter."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    current_leader: Annotated[CurrentLeader, tag(0)] = msgspec.field(default_factory=CurrentLeader)
