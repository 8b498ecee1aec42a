import pytest

from kdiag.wire.primitives import uuid_text
from made_values.exchange_line import Values, written_line
from tiers.cases import for_each

ORDERS_ID = bytes(range(16))
NAMES = {uuid_text(ORDERS_ID): "orders"}


def test_an_api_versions_tells_the_client_software_and_counts_apis() -> None:
    """Clients before version 3 do not say what they are."""
    software = {"client_software_name": "librdkafka", "client_software_version": "2.16.0"}

    assert written_line("ApiVersions", 3, software, {"api_keys": [{}, {}]}) == (
        "librdkafka 2.16.0 → 2 APIs"
    )
    assert written_line("ApiVersions", 0, {}, {"api_keys": [{}]}) == "1 API"


def test_a_sasl_handshake_tells_what_is_wanted_and_what_there_is() -> None:
    """Where they differ the reason of a failure is on the line."""
    answered = {"error_code": 33, "mechanisms": ["SCRAM-SHA-512", "OAUTHBEARER"]}

    said = written_line("SaslHandshake", 1, {"mechanism": "PLAIN"}, answered)

    assert said == "mechanism PLAIN → broker has SCRAM-SHA-512 OAUTHBEARER"


def test_a_sasl_token_is_told_by_its_user_and_size_alone() -> None:
    """A password is never on the line; why it was refused is."""
    token = b"\0alice\0secret-word"
    answered = {"error_code": 58, "error_message": "Invalid username or password"}

    said = written_line("SaslAuthenticate", 2, {"auth_bytes": token}, answered)

    assert said == 'user alice, token of 18 B → "Invalid username or password"'


def test_created_topics_stand_with_partitions_replicas_and_settings() -> None:
    """A number of -1 means the broker's default."""
    topics = [
        {"name": "orders", "num_partitions": 6, "replication_factor": 3}
        | {"configs": [{"name": "cleanup.policy"}, {"name": "retention.ms"}]},
        {"name": "audit", "num_partitions": -1, "replication_factor": -1},
    ]

    assert written_line("CreateTopics", 5, {"topics": topics, "validate_only": True}) == (
        "orders 6 partitions, 3 replicas, cleanup.policy retention.ms;"
        " audit default partitions, default replicas, validate only"
    )


def test_an_error_message_of_the_broker_is_quoted() -> None:
    """What the broker says in words stands behind what was asked."""
    asked = {"broker_id": 9}
    answered = {"error_code": 102, "error_message": "Broker 9 is not registered."}

    said = written_line("UnregisterBroker", 0, asked, answered)

    assert said == 'brokerId 9 → "Broker 9 is not registered."'


def test_deleted_topics_are_told_by_name() -> None:
    """Since version 6 a topic may be deleted by its id."""
    by_id = {"topics": [{"name": "audit"}, {"name": None, "topic_id": ORDERS_ID}]}

    assert written_line("DeleteTopics", 3, {"topic_names": ["a", "b"]}) == "a b"
    assert written_line("DeleteTopics", 6, by_id, names=NAMES) == "audit orders"


def test_created_partitions_tell_the_new_count() -> None:
    """The number is how many there shall be, not how many are added."""
    asked = {"topics": [{"name": "orders", "count": 12}]}

    assert written_line("CreatePartitions", 3, asked) == "orders to 12 partitions"


@for_each(
    ("kind", "name", "text"),
    [
        (2, "orders", "topic orders"),
        (4, "", "broker (default)"),
        (8, "1", "broker logger 1"),
        (16, "m", "client metrics m"),
        (32, "g", "group g"),
        (64, "x", "resource 64 x"),
    ],
)
def test_a_described_resource_is_told_by_kind_and_name(kind: int, name: str, text: str) -> None:
    """An empty name stands for the default of all."""
    resource = {"resource_type": kind, "resource_name": name}

    assert written_line("DescribeConfigs", 4, {"resources": [resource]}) == text


def test_described_settings_are_named_and_counted() -> None:
    """No list of settings in the request means all of them."""
    resource = {"resource_type": 2, "resource_name": "orders", "configuration_keys": ["a", "b"]}
    answered: Values = {"results": [{"configs": [{}, {}]}]}

    said = written_line("DescribeConfigs", 4, {"resources": [resource]}, answered)

    assert said == "topic orders, a b → 2 settings"


@pytest.mark.parametrize("api", ["AlterConfigs", "IncrementalAlterConfigs"])
def test_altered_settings_are_named_without_their_values(api: str) -> None:
    """A value may be a password."""
    configs = [{"name": "ssl.keystore.password", "value": "secret-word"}]
    resource = {"resource_type": 4, "resource_name": "1", "configs": configs}

    said = written_line(api, 1, {"resources": [resource], "validate_only": True})

    assert said == "broker 1, ssl.keystore.password, validate only"


def test_a_created_acl_reads_like_a_sentence() -> None:
    """Codes of kinds, operations and permissions are words."""
    creation = {
        "resource_type": 2,
        "resource_name": "orders",
        "principal": "User:alice",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    foreign = creation | {"resource_type": 99, "operation": 99, "permission_type": 99}

    assert written_line("CreateAcls", 3, {"creations": [creation, foreign]}) == (
        "allow User:alice from * read on topic orders; ? User:alice from * 99 on 99 orders"
    )


def test_acls_are_described_and_deleted_by_filters() -> None:
    """A filter without a name or principal takes all."""
    wide = {"resource_type_filter": 1, "resource_name_filter": None, "principal_filter": None}
    narrow = {"resource_type_filter": 3, "resource_name_filter": "g", "principal_filter": "User:a"}
    described: Values = {"resources": [{"acls": [{}, {}]}]}
    deleted: Values = {"filter_results": [{"matching_acls": [{}, {}, {}]}]}

    assert written_line("DescribeAcls", 3, wide, described) == "anything → 2 ACLs"
    assert written_line("DescribeAcls", 3, narrow) == "group g, User:a"
    assert written_line("DeleteAcls", 3, {"filters": [wide, narrow]}, deleted) == (
        "anything; group g, User:a → 3 deleted"
    )


def test_changed_scram_users_are_named_without_their_passwords() -> None:
    """Salt and salted password stay in the message."""
    upsertion = {"name": "alice", "salt": b"salt", "salted_password": b"secret-word"}
    asked = {"upsertions": [upsertion], "deletions": [{"name": "bob"}]}

    assert written_line("AlterUserScramCredentials", 0, asked) == "set alice, delete bob"


def test_an_election_tells_its_kind_and_partitions() -> None:
    """Unclean elections lose data and must be seen."""
    where = [{"topic": "orders", "partitions": [0, 1]}]

    assert written_line("ElectLeaders", 2, {"election_type": 1, "topic_partitions": where}) == (
        "unclean leaders of orders[0,1]"
    )
    assert written_line("ElectLeaders", 2, {"topic_partitions": None}) == (
        "preferred leaders of all partitions"
    )
    assert written_line("ElectLeaders", 2, {"election_type": 5, "topic_partitions": None}) == (
        "5 leaders of all partitions"
    )


def test_telemetry_tells_how_often_and_how_much() -> None:
    """A client that ends pushes once more (KIP-714)."""
    wanted = {"requested_metrics": ["org.apache.kafka"], "push_interval_ms": 1000}
    push = {"metrics": bytes(1500), "terminating": True}

    assert (
        written_line("GetTelemetrySubscriptions", 0, {}, wanted)
        == "org.apache.kafka, every 1000 ms"
    )
    assert written_line("GetTelemetrySubscriptions", 0, None, {"push_interval_ms": 5}) == (
        "no metrics wanted, every 5 ms"
    )
    assert written_line("PushTelemetry", 0, push) == "1.5 kB of metrics, terminating"
