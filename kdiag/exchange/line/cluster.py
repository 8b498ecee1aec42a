"""What exchanges among brokers and controllers are about."""

from typing import Any, Final

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.embedded import read_forwarded_request
from kdiag.exchange.line.phrase import Topics, clause, count, listed
from kdiag.wire import api_keys


def _heartbeat_request(asked: Any, _: Dissection, __: Topics) -> str:
    return clause(
        f"broker {asked.broker_id} epoch {asked.broker_epoch}",
        f"metadata offset {asked.current_metadata_offset}",
        "wants to be fenced" if asked.want_fence else None,
        "wants to shut down" if asked.want_shut_down else None,
    )


def _heartbeat_response(answered: Any, dissection: Dissection, _: Topics) -> str:
    if dissection.error_code:
        return ""
    return clause(
        "caught up" if answered.is_caught_up else "not caught up",
        "fenced" if answered.is_fenced else None,
        "should shut down" if answered.should_shut_down else None,
    )


def _broker_registration_request(asked: Any, _: Dissection, __: Topics) -> str:
    return clause(f"broker {asked.broker_id}", _listeners(asked))


def _broker_registration_response(answered: Any, dissection: Dissection, _: Topics) -> str:
    return "" if dissection.error_code else f"epoch {answered.broker_epoch}"


def _controller_registration_request(asked: Any, _: Dissection, __: Topics) -> str:
    return clause(f"controller {asked.controller_id}", _listeners(asked))


def _listeners(asked: Any) -> str:
    return listed([f"{each.name}://{each.host}:{each.port}" for each in asked.listeners])


def _vote_request(asked: Any, _: Dissection, topics: Topics) -> str:
    words = [
        f"{topics.name(topic)}[{each.partition_index}] {'pre-vote' if each.pre_vote else 'vote'}"
        f" for {each.replica_id} in epoch {each.replica_epoch}"
        for topic in asked.topics
        for each in topic.partitions
    ]
    return listed(words, ", ")


def _vote_response(answered: Any, _: Dissection, __: Topics) -> str:
    words = [
        clause("granted" if each.vote_granted else "refused", _leader(each))
        for topic in answered.topics
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


def _cluster_response(answered: Any, _: Dissection, __: Topics) -> str:
    return clause(
        f"cluster {answered.cluster_id}" if answered.cluster_id else None,
        count(len(answered.brokers), "broker"),
        f"controller {answered.controller_id}" if answered.controller_id >= 0 else None,
    )


def _producer_ids_response(answered: Any, dissection: Dissection, _: Topics) -> str:
    if dissection.error_code:
        return ""
    return f"{answered.producer_id_len} from {answered.producer_id_start}"


def _snapshot_request(asked: Any, _: Dissection, topics: Topics) -> str:
    where = topics.partitions(asked.topics, lambda each: f" from byte {each.position}")
    return clause(f"replica {asked.replica_id}", where)


def _envelope_request(asked: Any, _: Dissection, __: Topics) -> str:
    found = read_forwarded_request(asked.request_data)
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
"""By API key, what to say of request and response."""
