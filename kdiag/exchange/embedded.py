"""Messages inside messages: the contents of `bytes` fields where Kafka nests protocols.

JoinGroup, SyncGroup and DescribeGroups carry the subscriptions and assignments of a classic group's
members, which the broker passes on unread; an Envelope carries a client's whole request from a
broker to the controller (KIP-590).
"""

from struct import Struct as Layout
from typing import Any, Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.messages import decode
from kdiag.wire.header import RequestHeader, read_request_header, read_response_header
from kdiag.wire.record_catalog import message_class
from kdiag.wire.records.internal import VersionedMessage
from kdiag.wire.schema import info_of

CONSUMER: Final = "consumer"
"""The protocol type of consumers; Kafka Connect and others have their own formats."""

_INT16: Final = Layout(">h")


def read_subscription(data: bytes | None) -> VersionedMessage | None:
    """Return the subscription of a member of a consumer group; None if the bytes are not one."""
    return _read_versioned("ConsumerProtocolSubscription", data)


def read_assignment(data: bytes | None) -> VersionedMessage | None:
    """Return the assignment of a member of a consumer group; None if the bytes are not one."""
    return _read_versioned("ConsumerProtocolAssignment", data)


def read_principal(data: bytes | None) -> VersionedMessage | None:
    """Return the sender of a forwarded request; None unless Kafka's own builder wrote it."""
    return _read_versioned("DefaultPrincipalData", data)


def _read_versioned(name: str, data: bytes | None) -> VersionedMessage | None:
    """Return the message after an int16 with its version, if it fits to the last byte."""
    if data is None or len(data) < _INT16.size:
        return None
    cls = message_class(name)
    (stated,) = _INT16.unpack_from(data)
    if not info_of(cls).versions.covers(stated):
        return None
    # Some clients (segmentio's kafka-go) state a version and leave its new fields out: bytes that
    # fit an earlier version to the last byte are in that version.
    for version in range(stated, -1, -1):
        try:
            return VersionedMessage(decode(cls, version, data, _INT16.size), version)
        except DecodeError:
            continue
    return None


class Forwarded(NamedTuple):
    """A request or response inside an Envelope.

    Attributes:
        api: the request's API.
        header: the request's header.
        message: the body.
    """

    api: Api
    header: RequestHeader
    message: Any


def read_forwarded_request(data: bytes) -> Forwarded | None:
    """Return the request in an Envelope, if its API is known and it fits to the last byte.

    An Envelope in an Envelope is not read: no broker forwards one.
    """
    try:
        header = read_request_header(data)
        api = API_BY_KEY.get(header.api_key)
        if api is None or api.key == api_keys.ENVELOPE or not api.versions.covers(header.version):
            return None
        message = decode(api.request_class(), header.version, data, header.body_offset)
    except DecodeError:
        return None
    return Forwarded(api, header, message)


def read_forwarded_response(data: bytes | None, request: bytes) -> Forwarded | None:
    """Return the response in an Envelope's response, given the bytes of the forwarded request."""
    asked = read_forwarded_request(request)
    if asked is None or data is None:
        return None
    api, asking, _ = asked
    try:
        header = read_response_header(data, api.key, asking.version)
        message = decode(api.response_class(), asking.version, data, header.body_offset)
    except DecodeError:
        return None
    return Forwarded(api, asking, message)
