"""Messages inside messages: what `bytes` fields hold where Kafka's protocol nests protocols.

The members of a classic group tell each other subscriptions and assignments inside JoinGroup,
SyncGroup and DescribeGroups, which the broker passes on unread; a broker forwards a client's whole
request to the controller inside an Envelope (KIP-590).
"""

from struct import Struct as Layout
from typing import Any, Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.messages import decode
from kdiag.wire.header import RequestHeader, read_request_header, read_response_header
from kdiag.wire.record_catalog import message_class
from kdiag.wire.schema import info_of

CONSUMER: Final = "consumer"
"""The protocol type of consumers; Kafka Connect and others have their own formats."""

_INT16: Final = Layout(">h")


class Embedded(NamedTuple):
    """A message that was found inside another, and its version."""

    message: Any
    version: int


def read_subscription(data: bytes | None) -> Embedded | None:
    """Return what a member of a consumer group wants to read; None if that is not what it is."""
    return _read_versioned("ConsumerProtocolSubscription", data)


def read_assignment(data: bytes | None) -> Embedded | None:
    """Return what a member of a consumer group shall read; None if that is not what it is."""
    return _read_versioned("ConsumerProtocolAssignment", data)


def read_principal(data: bytes | None) -> Embedded | None:
    """Return who a forwarded request is from, if Kafka's own principal builder wrote it."""
    return _read_versioned("DefaultPrincipalData", data)


def _read_versioned(name: str, data: bytes | None) -> Embedded | None:
    """Return the message after an int16 with its version, if it fits to the last byte."""
    if data is None or len(data) < _INT16.size:
        return None
    cls = message_class(name)
    (stated,) = _INT16.unpack_from(data)
    if not info_of(cls).versions.covers(stated):
        return None
    # Some clients (kafka-go of segmentio) state a version and leave its new fields out: what fits
    # a version before to the last byte is that.
    for version in range(stated, -1, -1):
        try:
            return Embedded(decode(cls, version, data, _INT16.size), version)
        except DecodeError:
            continue
    return None


class Forwarded(NamedTuple):
    """A request or response inside an Envelope.

    Attributes:
        api: of the request.
        header: of the request.
        message: the body.
    """

    api: Api
    header: RequestHeader
    message: Any


def read_forwarded_request(data: bytes) -> Forwarded | None:
    """Return the request that an Envelope carries, if it is known and fits to the last byte.

    An Envelope inside an Envelope is not read: no broker forwards one.
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
    """Return the response that an Envelope's response carries, given the request's bytes."""
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
