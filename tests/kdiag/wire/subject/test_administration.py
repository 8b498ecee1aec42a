import pytest

from exchange_maker import make_exchange
from kdiag.wire.api.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.create_acls import AclCreation, CreateAclsRequest
from kdiag.wire.api.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kdiag.wire.api.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kdiag.wire.api.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kdiag.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kdiag.wire.api.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from kdiag.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kdiag.wire.api.elect_leaders import ElectLeadersRequest, TopicPartitions
from kdiag.wire.api.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from kdiag.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kdiag.wire.api.push_telemetry import PushTelemetryRequest
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kdiag.wire.dissection import Dissection
from kdiag.wire.schema import Struct
from kdiag.wire.subject.line import Subjects
from kdiag.wire.topic_names import TopicNames

ACL = AclCreation(2, "orders", principal="User:a", host="*", operation=3, permission_type=3)
CONFIG = CreatableTopicConfig("retention.ms", "5")
SETTINGS = DescribeConfigsResult(configs=[DescribeConfigsResourceResult()])

CASES: list[tuple[Struct, Struct | None, int, str]] = [
    (
        ApiVersionsRequest("librdkafka", "2.3"),
        ApiVersionsResponse(api_keys=[ApiVersion(), ApiVersion()]),
        3,
        "librdkafka 2.3 → 2 APIs",
    ),
    (
        SaslHandshakeRequest("PLAIN"),
        SaslHandshakeResponse(33, ["SCRAM-SHA-256", "SCRAM-SHA-512"]),
        1,
        "mechanism PLAIN → broker has SCRAM-SHA-256 SCRAM-SHA-512",
    ),
    (SaslAuthenticateRequest(b"\0u\0pass"), SaslAuthenticateResponse(), 1, "token of 7 B"),
    (
        CreateTopicsRequest([CreatableTopic("a", 3, 2, configs=[CONFIG])], validate_only=True),
        None,
        5,
        "a 3 partitions, 2 replicas, retention.ms, validate only",
    ),
    (
        CreateTopicsRequest([CreatableTopic("a", -1, -1)]),
        None,
        5,
        "a default partitions, default replicas",
    ),
    (DeleteTopicsRequest(topic_names=["a", "b"]), None, 5, "a b"),
    (DeleteTopicsRequest([DeleteTopicState("a")]), None, 6, "a"),
    (CreatePartitionsRequest([CreatePartitionsTopic("a", 6)]), None, 3, "a to 6 partitions"),
    (
        DescribeConfigsRequest([DescribeConfigsResource(2, "a", ["retention.ms"])]),
        DescribeConfigsResponse(results=[SETTINGS]),
        4,
        "topic a, retention.ms → 1 setting",
    ),
    (
        IncrementalAlterConfigsRequest(
            [AlterConfigsResource(4, "", [AlterableConfig("ssl.key.password", value="secret")])]
        ),
        None,
        1,
        "broker (default), ssl.key.password",
    ),
    (CreateAclsRequest([ACL]), None, 2, "allow User:a from * read on topic orders"),
    (
        DescribeAclsRequest(2, "orders", principal_filter="User:a"),
        DescribeAclsResponse(resources=[DescribeAclsResource(acls=[AclDescription()])]),
        2,
        "topic orders, User:a → 1 ACL",
    ),
    (
        DeleteAclsRequest([DeleteAclsFilter(1, None, principal_filter=None)]),
        DeleteAclsResponse(
            filter_results=[DeleteAclsFilterResult(matching_acls=[DeleteAclsMatchingAcl()])]
        ),
        2,
        "anything → 1 deleted",
    ),
    (
        AlterUserScramCredentialsRequest(
            [ScramCredentialDeletion("old")],
            [ScramCredentialUpsertion("new", salted_password=b"secret")],
        ),
        None,
        0,
        "set new, delete old",
    ),
    (ElectLeadersRequest(0, None), None, 1, "preferred leaders of all partitions"),
    (
        ElectLeadersRequest(1, [TopicPartitions("a", [0])]),
        None,
        1,
        "unclean leaders of a[0]",
    ),
    (
        GetTelemetrySubscriptionsRequest(),
        GetTelemetrySubscriptionsResponse(push_interval_ms=1000),
        0,
        "no metrics wanted, every 1000 ms",
    ),
    (
        PushTelemetryRequest(terminating=True, metrics=b"abc"),
        None,
        0,
        "3 B of metrics, terminating",
    ),
]


@pytest.mark.parametrize(("asked", "answered", "version", "said"), CASES)
def test_administration_is_told_without_its_secrets(
    asked: Struct, answered: Struct | None, version: int, said: str
) -> None:
    """Names of settings and users show, their values and passwords never."""
    exchange = make_exchange(asked, answered, version=version)
    assert Subjects(TopicNames()).of(Dissection(exchange)) == said
