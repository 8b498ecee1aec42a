"""Phrases for the APIs among brokers and controllers."""

from typing import Any, Final

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.embedded import read_forwarded_request
from kdiag.exchange.line.phrase import address_text, clause, count, listed
from kdiag.exchange.line.topics import Topics
from kdiag.wire import api_keys


def _heartbeat_request(request: Any, _: Dissection, __: Topics) -> str:
    return clause(
        f"broker {request.broker_id} epoch {request.broker_epoch}",
        f"metadata offset {request.current_metadata_offset}",
        "wants to be fenced" if request.want_fence else None,
        "wants to shut down" if request.want_shut_down else None,
    )


def _heartbeat_response(response: Any, dissection: Dissection, _: Topics) -> str:
    if dissection.error_code:
        return ""
    return clause(
        "caught up" if response.is_caught_up else "not caught up",
        "fenced" if response.is_fenced else None,
        "should shut down" if response.should_shut_down else None,
    )


def _broker_registration_request(request: Any, _: Dissection, __: Topics) -> str:
    return clause(f"broker {request.broker_id}", _listeners(request))


def _broker_registration_response(response: Any, dissection: Dissection, _: Topics) -> str:
    return "" if dissection.error_code else f"epoch {response.broker_epoch}"


def _controller_registration_request(request: Any, _: Dissection, __: Topics) -> str:
    return clause(f"controller {request.controller_id}", _listeners(request))


def _listeners(request: Any) -> str:
    return listed(
        [f"{each.name}://{address_text(each.host, each.port)}" for each in request.listeners]
    )


def _vote_request(request: Any, _: Dissection, topics: Topics) -> str:
    words = [
        f"{topics.name(topic)}[{each.partition_index}] {'pre-vote' if each.pre_vote else 'vote'}"
        f" for {each.replica_id} in epoch {each.replica_epoch}"
        for topic in request.topics
        for each in topic.partitions
    ]
    return listed(words, ", ")


def _vote_response(response: Any, _: Dissection, __: Topics) -> str:
    words = [
        clause("granted" if each.vote_granted else "refused", _leader(each))
        for topic in response.topics
        for each in topic.partitions
    ]
    return listed(words, "; ")


def _leader(each: Any) -> str:
    if each.leader_id < 0:
        return f"no leader in epoch {each.leader_epoch}"
    return f"leader {each.leader_id} in epoch {each.leader_epoch}"


def _quorum_epoch(message: Any, _: Dissection, topics: Topics) -> str:
    words = [
        f"{topics.name(topic)}[{each.partition_index}] {_leader(each)}"
        for topic in message.topics
        for each in topic.partitions
    ]
    return listed(words, ", ")


def _cluster_response(response: Any, _: Dissection, __: Topics) -> str:
    return clause(
        f"cluster {response.cluster_id}" if response.cluster_id else None,
        count(len(response.brokers), "broker"),
        f"controller {response.controller_id}" if response.controller_id >= 0 else None,
    )


def _producer_ids_response(response: Any, dissection: Dissection, _: Topics) -> str:
    if dissection.error_code:
        return ""
    return f"{response.producer_id_len} from {response.producer_id_start}"


def _snapshot_request(request: Any, _: Dissection, topics: Topics) -> str:
    where = topics.partitions(request.topics, lambda each: f" from byte {each.position}")
    return clause(f"replica {request.replica_id}", where)


def _envelope_request(request: Any, _: Dissection, __: Topics) -> str:
    found = read_forwarded_request(request.request_data)
    if found is None:
        return "a request that cannot be read"
    client_id = found.header.client_id
    sender = f" of {client_id}" if client_id else ""
    return f"forwards {found.api.name} v{found.header.version}{sender}"


CLUSTER: Final = {
    api_keys.VOTE: (_vote_request, _vote_response),
    api_keys.BEGIN_QUORUM_EPOCH: (_quorum_epoch, _quorum_epoch),
    api_keys.END_QUORUM_EPOCH: (_quorum_epoch, _quorum_epoch),
    api_keys.DESCRIBE_QUORUM: (None, _quorum_epoch),
    api_keys.ENVELOPE: (_envelope_request, None),
    api_keys.FETCH_SNAPSHOT: (_snapshot_request, None),
    api_keys.DESCRIBE_CLUSTER: (None, _cluster_response),
    api_keys.BROKER_REGISTRATION: (_broker_registration_request, _broker_registration_response),
    api_keys.BROKER_HEARTBEAT: (_heartbeat_request, _heartbeat_response),
    api_keys.ALLOCATE_PRODUCER_IDS: (None, _producer_ids_response),
    api_keys.CONTROLLER_REGISTRATION: (_controller_registration_request, None),
}
"""The phrases of request and response by API key."""
