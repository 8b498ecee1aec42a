"""Settings of plugins and of other vendors, which no list of secrets knows."""

from typing import Any

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import Bodies, BodyForm
from kdiag.exchange.documents.byte_view import view_side
from kdiag.exchange.secrets.masking import mask_secrets
from kdiag.wire.api.alter_configs import (
    AlterableConfig as OldConfig,
)
from kdiag.wire.api.alter_configs import (
    AlterConfigsRequest,
)
from kdiag.wire.api.alter_configs import (
    AlterConfigsResource as OldResource,
)
from kdiag.wire.api.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kdiag.wire.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kdiag.wire.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kdiag.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.config_record import ConfigRecord
from kdiag.wire.schema import Struct, info_of
from recordings.exchange_maker import make_batch, make_exchange
from tiers.cases import for_each

SECRET = (
    "rsm.config.storage.aws.secret.access.key",
    "rsm.config.storage.azure.connection.string",
    "rsm.config.storage.gcs.credentials.json",
    "my.api.key",
    "connection.string",
    "confluent.license",
    "cloud_storage_secret_key",
    "kinesis.access.token",
    "retention.ms.of.a.plugin",
    "Retention.ms",
    "ssl.keystore.password",
    "listener.name.external.my.api.key",
    "listener.name.external.scram-sha-512.sasl.jaas.config",
    "listener.name.external.scram-sha-512.retention.ms",
    "SCRAM-SHA-256",
    "",
)
HARMLESS = (
    "log.retention.ms",
    "cleanup.policy",
    "advertised.listeners",
    "max.connections.per.ip.overrides",
    "listener.name.external.ssl.client.auth",
    "listener.name.external.scram-sha-512.sasl.login.class",
    "listener.name.external.connections.max.reauth.ms",
    "consumer.session.timeout.ms",
    "interval.ms",
    "bootstrap.servers",
)
VALUES = {name: f"canary-{number:02}" for number, name in enumerate((*SECRET, *HARMLESS))}
SHOWN = {VALUES[name] for name in HARMLESS}


def alter_configs() -> Struct:
    """Return a request that sets all of them at once."""
    configs = [OldConfig(name=name, value=value) for name, value in VALUES.items()]
    return AlterConfigsRequest(resources=[OldResource(4, "1", configs)])


def incremental_alter_configs(resource_type: int = 4, **values: str) -> Struct:
    """Return a request that sets each of them."""
    pairs = values or VALUES
    configs = [AlterableConfig(name=name, value=value) for name, value in pairs.items()]
    return IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type, "1", configs)]
    )


def create_topics() -> Struct:
    """Return a request for a topic that has them."""
    configs = [CreatableTopicConfig(name=name, value=value) for name, value in VALUES.items()]
    return CreateTopicsRequest(topics=[CreatableTopic("orders", configs=configs)])


def describe_configs() -> Struct:
    """Return the answer of a broker that calls none of them sensitive."""
    configs = [
        DescribeConfigsResourceResult(
            name=name, value=value, synonyms=[DescribeConfigsSynonym(name=name, value=value)]
        )
        for name, value in VALUES.items()
    ]
    return DescribeConfigsResponse(results=[DescribeConfigsResult(configs=configs)])


def metadata_log() -> Struct:
    """Return records of the metadata log that set them."""
    records = [
        bytes([1, 4, 0]) + encode(ConfigRecord(4, "1", name, value), 0)
        for name, value in VALUES.items()
    ]
    part = PartitionData(records=make_batch(*records))
    return FetchResponse(
        responses=[FetchableTopicResponse("__cluster_metadata", partitions=[part])]
    )


MESSAGES = [
    (alter_configs(), 2, False),
    (incremental_alter_configs(), 1, False),
    (create_topics(), 7, False),
    (describe_configs(), 4, True),
    (metadata_log(), 12, True),
]


def shown_in(text: object) -> set[str]:
    """Return the values that stand in a text."""
    return {value for value in VALUES.values() if value in str(text)}


def dissect(message: Struct, version: int, *, is_response: bool) -> Dissection:
    """Return an exchange with a message, masked if it is asked for."""
    api = API_BY_KEY[info_of(type(message)).api_key or 0]
    if is_response:
        return Dissection(make_exchange(api.request_class()(), message, version=version))
    return Dissection(make_exchange(message, version=version))


def body_of(dissection: Dissection, *, is_response: bool, show_secrets: bool) -> object:
    """Return a body with its records."""
    form = BodyForm(values=True, show_secrets=show_secrets)
    side = dissection.sides[is_response]
    assert side is not None
    return Bodies(TopicNames(), form).make(dissection, side, is_response=is_response)[0]


@for_each(("message", "version", "is_response"), MESSAGES)
def test_only_values_of_settings_that_are_known_to_be_harmless_are_shown(
    message: Struct,
    version: int,
    is_response: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    """In bodies, in the byte view, and in the bytes of frames that are passed on."""
    dissection = dissect(message, version, is_response=is_response)
    side = dissection.sides[is_response]
    assert side is not None
    body = body_of(dissection, is_response=is_response, show_secrets=False)
    spans = view_side(dissection, side, is_response=is_response)
    masked = Dissection(mask_secrets(dissection.exchange))
    passed_on = body_of(masked, is_response=is_response, show_secrets=True)

    assert shown_in(body) == SHOWN
    assert shown_in(spans) in (SHOWN, set())  # records stay one span without a value
    assert shown_in(passed_on) == SHOWN
    everything = body_of(dissection, is_response=is_response, show_secrets=True)
    assert shown_in(everything) == set(VALUES.values())


@for_each(
    ("resource_type", "value", "is_shown"),
    [
        (8, "DEBUG", True),
        (8, "OFF", True),
        (8, "hunter2", False),
        (4, "DEBUG", False),
    ],
)
def test_levels_of_loggers_are_shown(
    resource_type: int,
    value: str,
    is_shown: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    """A broker's loggers have the names of classes, which no table lists."""
    request = incremental_alter_configs(resource_type, **{"kafka.server.KafkaApis": value})
    dissection = dissect(request, 1, is_response=False)
    side = dissection.sides[0]
    assert side is not None
    forms: list[Any] = [
        body_of(dissection, is_response=False, show_secrets=False),
        view_side(dissection, side, is_response=False),
    ]
    assert [value in str(form) for form in forms] == [is_shown] * len(forms)


def test_a_level_that_the_broker_calls_sensitive_is_hidden() -> None:
    """The broker knows better."""
    config = DescribeConfigsResourceResult(name="a.Class", value="DEBUG", is_sensitive=True)
    response = DescribeConfigsResponse(
        results=[DescribeConfigsResult(resource_type=8, configs=[config])]
    )
    dissection = dissect(response, 4, is_response=True)
    assert "DEBUG" not in str(body_of(dissection, is_response=True, show_secrets=False))
