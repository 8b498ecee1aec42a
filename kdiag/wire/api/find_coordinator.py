"""Finds the broker that coordinates a group, a transactional id or a share partition.

API key 10, versions 0-6, flexible from 3.

Source: KIP-98 (v1 transactions), KIP-699 (v4 many keys), KIP-890 (v5), KIP-932 (v6 share groups).
"""

from typing import Annotated

from kdiag.wire.schema import (
    BrokerId,
    Int8,
    Int16,
    Int32,
    String,
    Struct,
    ignorable,
    message,
    since,
)


@message(api_key=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest(Struct):
    """The request of FindCoordinator."""

    key: Annotated[String, since("0-3")] = ""
    key_type: Annotated[Int8, since("1+")] = 0
    coordinator_keys: Annotated[list[String], since("4+")] = []


class Coordinator(Struct):
    """One element of `coordinators` in FindCoordinatorResponse."""

    key: String = ""
    node_id: BrokerId = 0
    host: String = ""
    port: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""


@message(api_key=10, versions="0-6", flexible="3+")
class FindCoordinatorResponse(Struct):
    """The response of FindCoordinator."""

    throttle_time_ms: Annotated[Int32, since("1+"), ignorable] = 0
    error_code: Annotated[Int16, since("0-3")] = 0
    error_message: Annotated[String | None, since("1-3"), ignorable] = ""
    node_id: Annotated[BrokerId, since("0-3")] = 0
    host: Annotated[String, since("0-3")] = ""
    port: Annotated[Int32, since("0-3")] = 0
    coordinators: Annotated[list[Coordinator], since("4+")] = []
