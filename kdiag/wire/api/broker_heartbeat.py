"""A broker tells the KRaft controller it lives, and learns whether it is fenced.

API key 63, versions 0-2, flexible from 0.

Source: KIP-631, KIP-858 (v1 failed log directories).
"""

from typing import Annotated

from kdiag.wire.schema import (
    Boolean,
    BrokerId,
    Int16,
    Int32,
    Int64,
    Struct,
    Uuid,
    message,
    since,
    tag,
)


@message(api_key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatRequest(Struct):
    """The request of BrokerHeartbeat."""

    broker_id: BrokerId = 0
    broker_epoch: Int64 = -1
    current_metadata_offset: Int64 = 0
    want_fence: Boolean = False
    want_shut_down: Boolean = False
    offline_log_dirs: Annotated[list[Uuid], since("1+"), tag(0)] = []
    cordoned_log_dirs: Annotated[list[Uuid] | None, since("2+"), tag(1)] = None


@message(api_key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatResponse(Struct):
    """The response of BrokerHeartbeat."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    is_caught_up: Boolean = False
    is_fenced: Boolean = True
    should_shut_down: Boolean = False
