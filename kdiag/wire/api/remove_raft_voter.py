"""Removes a voter from the KRaft quorum.

API key 81, version 0, flexible from 0.

Source: KIP-853.
"""

from kdiag.wire.schema import ZERO_UUID, Int16, Int32, String, Struct, Uuid, message


@message(api_key=81, versions="0", flexible="0+")
class RemoveRaftVoterRequest(Struct):
    """The request of RemoveRaftVoter."""

    cluster_id: String | None = ""
    voter_id: Int32 = 0
    voter_directory_id: Uuid = ZERO_UUID


@message(api_key=81, versions="0", flexible="0+")
class RemoveRaftVoterResponse(Struct):
    """The response of RemoveRaftVoter."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
