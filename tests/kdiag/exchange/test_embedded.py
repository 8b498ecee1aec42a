from kdiag.exchange.embedded import (
    read_assignment,
    read_forwarded_request,
    read_forwarded_response,
    read_principal,
    read_subscription,
)
from kdiag.wire.api.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from kdiag.wire.api.envelope import EnvelopeRequest
from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from kdiag.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from kdiag.wire.internal.default_principal_data import DefaultPrincipalData
from recordings.exchange_maker import request_bytes, response_bytes


def test_subscriptions_and_assignments_are_read_behind_their_version() -> None:
    """Both start with an int16."""
    wants = ConsumerProtocolSubscription(topics=["orders"], rack_id="r1")
    found = read_subscription(b"\x00\x03" + encode(wants, 3))
    assert found == (wants, 3)
    gets = ConsumerProtocolAssignment(assigned_partitions=[TopicPartition("orders", [0, 1])])
    assert read_assignment(b"\x00\x00" + encode(gets, 0)) == (gets, 0)


def test_a_client_that_leaves_the_new_fields_of_its_version_out_is_understood() -> None:
    """Some write version 1 without the owned partitions that it added."""
    wants = ConsumerProtocolSubscription(topics=["orders"])
    assert read_subscription(b"\x00\x01" + encode(wants, 0)) == (wants, 0)


def test_other_peoples_protocols_are_left_closed() -> None:
    """What does not fit to the last byte, or is newer than known, is not read."""
    fits = b"\x00\x00" + encode(ConsumerProtocolSubscription(topics=["orders"]), 0)
    assert read_subscription(fits + b"\x00") is None
    assert read_subscription(b"\x00\x63" + fits[2:]) is None
    assert read_subscription(b"\x00") is None
    assert read_subscription(None) is None


def test_an_envelope_carries_a_whole_request_and_its_response() -> None:
    """The response says what it is by the request that it answers."""
    asked = CreateTopicsRequest(topics=[CreatableTopic("orders")])
    request = request_bytes(asked, 7, client_id="admin")
    found = read_forwarded_request(request)
    assert found is not None
    assert (found.api.name, found.header.client_id, found.message) == (
        "CreateTopics",
        "admin",
        asked,
    )
    answered = CreateTopicsResponse(throttle_time_ms=3)
    reply = read_forwarded_response(response_bytes(answered, 7), request)
    assert reply is not None
    assert reply.message == answered


def test_envelopes_that_make_no_sense_are_left_closed() -> None:
    """A cut request, an unknown API, an Envelope, a response without its request."""
    request = request_bytes(CreateTopicsRequest(), 7)
    nested = request_bytes(EnvelopeRequest(request_data=request), 0)
    assert read_forwarded_request(nested) is None
    assert read_forwarded_request(request[:-1]) is None
    assert read_forwarded_request(b"\x7f\x00" + request[2:]) is None
    assert read_forwarded_response(None, request) is None
    assert read_forwarded_response(b"\x00", request) is None
    assert read_forwarded_response(b"\x00", b"") is None


def test_the_principal_of_a_forwarded_request_is_read() -> None:
    """Kafka's own builder writes type and name."""
    principal = DefaultPrincipalData(type="User", name="alice")
    found = read_principal(b"\x00\x00" + encode(principal, 0))
    assert found == (principal, 0)
