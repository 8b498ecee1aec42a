"""The voters of the KRaft quorum, with their endpoints.

Version 0, flexible from 0.
"""

import msgspec

from kdiag.wire.schema import ZERO_UUID, BrokerId, Int16, String, Struct, Uint16, Uuid, message


class Endpoint(Struct):
    """One element of `endpoints` in Voter."""

    name: String = ""
    host: String = ""
    port: Uint16 = 0


class KRaftVersionFeature(Struct):
    """The value of `k_raft_version_feature` in Voter."""

    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


class Voter(Struct):
    """One element of `voters` in VotersRecord."""

    voter_id: BrokerId = 0
    voter_directory_id: Uuid = ZERO_UUID
    endpoints: list[Endpoint] = []
    k_raft_version_feature: KRaftVersionFeature = msgspec.field(default_factory=KRaftVersionFeature)


@message(versions="0", flexible="0+")
class VotersRecord(Struct):
    """Kafka's VotersRecord."""

    version: Int16 = 0
    voters: list[Voter] = []
