"""Phrases for the APIs of administrators and of connecting clients; secrets are never in them."""

from typing import Any, Final

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.phrase import clause, count, listed, size
from kdiag.exchange.line.topics import Topics
from kdiag.exchange.secrets.sasl_user import read_sasl_user
from kdiag.wire import api_keys

_RESOURCES: Final = {2: "topic", 4: "broker", 8: "broker logger", 16: "client metrics", 32: "group"}
_ACL_RESOURCES: Final = {
    1: "anything",
    2: "topic",
    3: "group",
    4: "cluster",
    5: "transactional id",
    6: "delegation token",
    7: "user",
}
_OPERATIONS: Final = {
    1: "any operation",
    2: "all operations",
    3: "read",
    4: "write",
    5: "create",
    6: "delete",
    7: "alter",
    8: "describe",
    9: "cluster action",
    10: "describe configs",
    11: "alter configs",
    12: "idempotent write",
    13: "create tokens",
    14: "describe tokens",
    15: "two-phase commit",
}
_PERMISSIONS: Final = {1: "any", 2: "deny", 3: "allow"}
_ELECTIONS: Final = {0: "preferred", 1: "unclean"}


def _versions_request(request: Any, _: Dissection, __: Topics) -> str:
    return " ".join(filter(None, (request.client_software_name, request.client_software_version)))


def _versions_response(response: Any, _: Dissection, __: Topics) -> str:
    return count(len(response.api_keys), "API")


def _handshake_request(request: Any, _: Dissection, __: Topics) -> str:
    return f"mechanism {request.mechanism}"


def _handshake_response(response: Any, _: Dissection, __: Topics) -> str:
    return f"broker has {listed(response.mechanisms)}"


def _authenticate_request(request: Any, _: Dissection, __: Topics) -> str:
    user = read_sasl_user(bytes(request.auth_bytes), None)
    return clause(None if user is None else f"user {user}", _token(request))


def _authenticate_response(response: Any, _: Dissection, __: Topics) -> str:
    return _token(response)


def _token(message: Any) -> str:
    return f"token of {size(len(message.auth_bytes))}" if message.auth_bytes else ""


def _create_topics_request(request: Any, _: Dissection, __: Topics) -> str:
    words = [
        clause(
            f"{topic.name} {_count_or_default(topic.num_partitions, 'partition')}",
            f"{_count_or_default(topic.replication_factor, 'replica')}",
            listed([f"{each.name}" for each in topic.configs]),
        )
        for topic in request.topics
    ]
    return clause(listed(words, "; "), "validate only" if request.validate_only else None)


def _count_or_default(number: int, noun: str) -> str:
    return f"default {noun}s" if number < 0 else count(number, noun)


def _delete_topics_request(request: Any, _: Dissection, topics: Topics) -> str:
    return listed(request.topic_names) or topics.names(request.topics)


def _create_partitions_request(request: Any, _: Dissection, __: Topics) -> str:
    return listed([f"{each.name} to {count(each.count, 'partition')}" for each in request.topics])


def _resource(each: Any) -> str:
    kind = _RESOURCES.get(each.resource_type, f"resource {each.resource_type}")
    return f"{kind} {each.resource_name or '(default)'}"


def _describe_configs_request(request: Any, _: Dissection, __: Topics) -> str:
    words = [
        clause(_resource(each), listed(each.configuration_keys or ())) for each in request.resources
    ]
    return listed(words, "; ")


def _describe_configs_response(response: Any, _: Dissection, __: Topics) -> str:
    return count(sum(len(each.configs) for each in response.results), "setting")


def _alter_configs_request(request: Any, _: Dissection, __: Topics) -> str:
    words = [
        clause(_resource(each), listed([config.name for config in each.configs]))
        for each in request.resources
    ]
    return clause(listed(words, "; "), "validate only" if request.validate_only else None)


def _acl(each: Any) -> str:
    kind = _ACL_RESOURCES.get(each.resource_type, str(each.resource_type))
    return (
        f"{_PERMISSIONS.get(each.permission_type, '?')} {each.principal} from {each.host}"
        f" {_OPERATIONS.get(each.operation, each.operation)} on {kind} {each.resource_name}"
    )


def _create_acls_request(request: Any, _: Dissection, __: Topics) -> str:
    return listed([_acl(each) for each in request.creations], "; ")


def _acl_filter(each: Any) -> str:
    kind = _ACL_RESOURCES.get(each.resource_type_filter, str(each.resource_type_filter))
    return clause(f"{kind} {each.resource_name_filter or ''}".strip(), each.principal_filter)


def _describe_acls_request(request: Any, _: Dissection, __: Topics) -> str:
    return _acl_filter(request)


def _described_acls(response: Any, _: Dissection, __: Topics) -> str:
    return count(sum(len(each.acls) for each in response.resources), "ACL")


def _delete_acls_request(request: Any, _: Dissection, __: Topics) -> str:
    return listed([_acl_filter(each) for each in request.filters], "; ")


def _deleted_acls(response: Any, _: Dissection, __: Topics) -> str:
    return f"{sum(len(each.matching_acls) for each in response.filter_results)} deleted"


def _scram_request(request: Any, _: Dissection, __: Topics) -> str:
    changed = [f"set {each.name}" for each in request.upsertions]
    return listed(changed + [f"delete {each.name}" for each in request.deletions], ", ")


def _elect_request(request: Any, _: Dissection, topics: Topics) -> str:
    kind = _ELECTIONS.get(request.election_type, str(request.election_type))
    where = "all partitions"
    if request.topic_partitions is not None:
        where = topics.partitions(request.topic_partitions)
    return f"{kind} leaders of {where}"


def _push_telemetry_request(request: Any, _: Dissection, __: Topics) -> str:
    return clause(
        f"{size(len(request.metrics))} of metrics", "terminating" if request.terminating else None
    )


def _telemetry_response(response: Any, _: Dissection, __: Topics) -> str:
    return clause(
        listed(response.requested_metrics) or "no metrics wanted",
        f"every {response.push_interval_ms} ms",
    )


ADMINISTRATION: Final = {
    api_keys.SASL_HANDSHAKE: (_handshake_request, _handshake_response),
    api_keys.API_VERSIONS: (_versions_request, _versions_response),
    api_keys.CREATE_TOPICS: (_create_topics_request, None),
    api_keys.DELETE_TOPICS: (_delete_topics_request, None),
    api_keys.DESCRIBE_ACLS: (_describe_acls_request, _described_acls),
    api_keys.CREATE_ACLS: (_create_acls_request, None),
    api_keys.DELETE_ACLS: (_delete_acls_request, _deleted_acls),
    api_keys.DESCRIBE_CONFIGS: (_describe_configs_request, _describe_configs_response),
    api_keys.ALTER_CONFIGS: (_alter_configs_request, None),
    api_keys.SASL_AUTHENTICATE: (_authenticate_request, _authenticate_response),
    api_keys.CREATE_PARTITIONS: (_create_partitions_request, None),
    api_keys.ELECT_LEADERS: (_elect_request, None),
    api_keys.INCREMENTAL_ALTER_CONFIGS: (_alter_configs_request, None),
    api_keys.ALTER_USER_SCRAM_CREDENTIALS: (_scram_request, None),
    api_keys.GET_TELEMETRY_SUBSCRIPTIONS: (None, _telemetry_response),
    api_keys.PUSH_TELEMETRY: (_push_telemetry_request, None),
}
"""The phrases of request and response by API key."""
