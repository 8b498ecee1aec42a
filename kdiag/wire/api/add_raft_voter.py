"""Adds a voter to the KRaft quorum.

API key 80, versions 0-1, flexible from 0.

Source: KIP-853.
"""

from typing import Annotated

from kdiag.wire.schema import (
    ZERO_UUID,
    Boolean,
    Int16,
    Int32,
    String,
    Struct,
    Uint16,
    Uuid,
    message,
    since,
)


class Listener(Struct):
    """One element of `listeners` in AddRaftVoterRequest."""

    name: String = ""
    host: String = ""
    port: Uint16 = 0


@message(api_key=80, versions="0-1", flexible="0+")
class AddRaftVoterRequest(Struct):
    """The request of AddRaftVoter."""

    cluster_id: String | None = ""
    timeout_ms: Int32 = 0
    voter_id: Int32 = 0
    voter_directory_id: Uuid = ZERO_UUID
    listeners: list[Listener] = []
    ack_when_committed: Annotated[Boolean, since("1+")] = True


@message(api_key=80, versions="0-1", flexible="0+")
class AddRaftVoterResponse(Struct):
    """The response of AddRaftVoter."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
