import pytest

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.secrets.masking import mask_secrets
from kdiag.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kdiag.wire.api.envelope import EnvelopeRequest, EnvelopeResponse
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.config_record import ConfigRecord
from kdiag.wire.internal.user_scram_credential_record import UserScramCredentialRecord
from kdiag.wire.records.batches import read_batches
from recordings.exchange_maker import START_NS, cut_frame, make_batch, make_exchange
from tiers.cases import for_each

SECRET = b"s3cr3t"
METADATA_TOPIC_ID = bytes(15) + b"\x01"


def frames_of(exchange: Exchange) -> tuple[bytes, bytes]:
    """Return the bytes of request and response."""
    request, response = exchange.request, exchange.response
    return (request.data if request else b"", response.data if response else b"")


def check_masked(exchange: Exchange) -> Exchange:
    """Return the exchange without secrets, after the check that nothing else changed in shape."""
    masked = mask_secrets(exchange)
    for before, after in zip(frames_of(exchange), frames_of(masked), strict=True):
        assert len(before) == len(after)
        assert SECRET not in after
    assert frames_of(masked) != frames_of(exchange)
    return masked


def test_tokens_of_sasl_become_x_in_both_directions() -> None:
    """The rest decodes as before."""
    request = SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + SECRET)
    response = SaslAuthenticateResponse(error_message="no", auth_bytes=b"v=" + SECRET)

    masked = Dissection(check_masked(make_exchange(request, response, version=2)))

    assert masked.status is Status.OK
    assert masked.sides[0].message == SaslAuthenticateRequest(auth_bytes=b"x" * 13)
    assert masked.sides[1].message.error_message == "no"


def test_passwords_in_configurations_become_x_and_other_values_stay() -> None:
    """Kafka's rule tells which settings are passwords."""
    configs = [
        AlterableConfig("ssl.keystore.password", value=SECRET.decode()),
        AlterableConfig("retention.ms", value="5"),
        AlterableConfig("ssl.key.password", value=None),
    ]
    request = IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(configs=configs)])

    exchange = make_exchange(request, IncrementalAlterConfigsResponse(), version=1)
    masked = Dissection(check_masked(exchange))

    [resource] = masked.sides[0].message.resources
    assert [each.value for each in resource.configs] == ["xxxxxx", "5", None]


def test_what_the_broker_calls_sensitive_becomes_x() -> None:
    """Whatever its name is."""
    config = DescribeConfigsResourceResult(
        name="own.plugin", value=SECRET.decode(), is_sensitive=True
    )
    response = DescribeConfigsResponse(results=[DescribeConfigsResult(configs=[config])])

    check_masked(make_exchange(DescribeConfigsRequest(), response, version=4))


def test_an_exchange_without_secrets_stays_the_same_object() -> None:
    """Nothing is copied."""
    exchange = make_exchange(FindCoordinatorRequest(), FindCoordinatorResponse(), version=4)

    assert mask_secrets(exchange) is exchange


def test_a_bare_token_is_masked_whole() -> None:
    """After SaslHandshake v0 a frame is nothing but the token."""
    exchange = make_exchange(b"\0alice\0" + SECRET, b"", version=None, pairing=Status.OPAQUE)

    assert frames_of(check_masked(exchange)) == (b"x" * 13, b"")


def test_a_forwarded_request_is_masked_whole() -> None:
    """It may be one that sets passwords."""
    request = EnvelopeRequest(request_data=SECRET, client_host_address=b"\x0a\0\0\1")
    exchange = make_exchange(request, EnvelopeResponse(response_data=SECRET), version=0)

    masked = Dissection(check_masked(exchange))

    assert masked.sides[0].message.client_host_address == b"\x0a\0\0\1"


@pytest.mark.parametrize("changes", [{"version": 99}, {"api_key": None}, {"api_key": 999}])
def test_a_body_that_is_not_understood_is_masked_behind_the_header(
    changes: dict[str, int | None],
) -> None:
    """Nobody can tell where a secret is in it."""
    message = SaslAuthenticateRequest(auth_bytes=SECRET)
    exchange = make_exchange(message, SaslAuthenticateResponse(auth_bytes=SECRET), version=2)
    for name, value in changes.items():
        setattr(exchange, name, value)

    request, response = frames_of(check_masked(exchange))

    assert request.startswith(b"\0\x24\0\x02\0\0\0\x07\0\x03app")
    assert response.startswith(b"\0\0\0\x07")


def test_the_beginning_of_a_cut_token_is_masked() -> None:
    """What was captured of it may be the password."""
    exchange = make_exchange(SaslAuthenticateRequest(auth_bytes=SECRET * 2), version=2)
    assert exchange.request is not None
    exchange.request = cut_frame(exchange.request.data, len(exchange.request.data) - 2, START_NS)

    check_masked(exchange)


def test_a_frame_cut_within_its_header_has_no_secrets() -> None:
    """What the capture has of it is no more than a part of the client id."""
    exchange = make_exchange(SaslAuthenticateRequest(auth_bytes=SECRET), version=2)
    assert exchange.request is not None
    exchange.request = cut_frame(exchange.request.data, 11, START_NS)

    assert mask_secrets(exchange) is exchange


@for_each("version", [1, 2])
@for_each(
    ("at", "wrong"),
    [
        (0, b"\0\3"),  # the key of Metadata
        (0, b"\0\x12"),  # of ApiVersions
        (8, b"\x70\0"),  # the length of the client id
        (8, b"\xff\xf0"),
        (8, b"\0\x14"),
        (13, b"\0\0\0\1"),  # behind the client id: tags, and the length of the token
        (13, b"\1"),
        (14, b"\2"),
    ],
)
def test_of_a_damaged_frame_only_its_first_fields_stay(at: int, wrong: bytes, version: int) -> None:
    """Whatever it was: if it was a login, the password is anywhere behind them."""
    exchange = make_exchange(
        SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + SECRET), version=version
    )
    assert exchange.request is not None
    data = exchange.request.data
    exchange.request.data = data[:at] + wrong + data[at + len(wrong) :]
    exchange.api_key = int.from_bytes(exchange.request.data[:2])
    head = exchange.request.data[:8]

    request, _ = frames_of(check_masked(exchange))

    assert request[:8] == head
    assert Dissection(exchange).status is Status.OK or set(request[8:]) == set(b"x")


def test_a_frame_with_a_bad_batch_is_not_damaged() -> None:
    """It is evidence, and parses to its last byte."""
    part = PartitionData(records=make_batch(b"one")[:-3] + b"!!!")
    topic = FetchableTopicResponse("orders", partitions=[part])
    exchange = make_exchange(FetchRequest(), FetchResponse(responses=[topic]), version=12)
    short = PartitionData(records=bytes(8) + b"\0\0\0\1" + bytes(30))
    broken = FetchResponse(responses=[FetchableTopicResponse("orders", partitions=[short])])

    assert mask_secrets(exchange) is exchange
    exchange = make_exchange(FetchRequest(), broken, version=12)
    assert Dissection(exchange).status is Status.MALFORMED
    assert mask_secrets(exchange) is exchange


def metadata_value(record: UserScramCredentialRecord | ConfigRecord, record_type: int) -> bytes:
    """Return the value of a record of the metadata log."""
    return bytes([1, record_type, 0]) + encode(record, 0)


SCRAM = metadata_value(
    UserScramCredentialRecord(
        name="u", mechanism=1, salt=SECRET, stored_key=SECRET, server_key=SECRET, iterations=4096
    ),
    11,
)
PASSWORD = metadata_value(
    ConfigRecord(
        resource_type=4, resource_name="1", name="ssl.key.password", value=SECRET.decode()
    ),
    4,
)
SETTING = metadata_value(
    ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="5"), 4
)


def fetched(records: bytes, topic_id: bytes = METADATA_TOPIC_ID) -> Exchange:
    """Return an exchange of Fetch of one partition."""
    partition = PartitionData(records=records)
    other = FetchableTopicResponse(topic_id=bytes(15) + b"\x02", partitions=[PartitionData()])
    topic = FetchableTopicResponse(topic_id=topic_id, partitions=[partition])
    return make_exchange(FetchRequest(), FetchResponse(responses=[other, topic]), version=17)


def test_secrets_in_the_metadata_log_become_x_and_the_batch_stays_whole() -> None:
    """Its checksum is the one of what stands there now."""
    masked = Dissection(
        check_masked(fetched(make_batch(SCRAM, SETTING, PASSWORD, b"odd" + SECRET)))
    )

    assert masked.status is Status.OK
    [batch] = read_batches(masked.sides[1].message.responses[1].partitions[0].records).batches
    assert batch.crc_ok
    values = [record.value or b"" for record in batch.records()]
    assert values[0] == SCRAM.replace(SECRET, b"xxxxxx")
    assert values[1:] == [SETTING, PASSWORD.replace(SECRET, b"xxxxxx"), b"x" * 9]


@for_each(
    "records",
    [
        make_batch(SCRAM, compression="gzip"),
        make_batch(SCRAM) + make_batch(SCRAM)[:-3],
        make_batch(SCRAM)[:16] + b"\x09" + SCRAM,
        make_batch(SCRAM, magic=1),
        make_batch(SCRAM)[:57] + b"\0\0\0\x63" + make_batch(SCRAM)[61:],
    ],
    ids=["compressed", "cut", "no magic", "magic 1", "wrong count"],
)
def test_batches_of_the_metadata_log_that_cannot_be_opened_lose_their_records(
    records: bytes,
) -> None:
    """Nothing of them is left to be unpacked."""
    masked = mask_secrets(fetched(records))

    assert SECRET not in frames_of(masked)[1]
    assert records[-20:] not in frames_of(masked)[1]


def test_records_of_other_topics_stay_whatever_they_say() -> None:
    """A record that mentions the metadata log is not of it."""
    records = make_batch(b"__cluster_metadata", SCRAM)
    exchange = fetched(records, topic_id=bytes(15) + b"\x03")

    assert mask_secrets(exchange) is exchange
