"""Phrases for the APIs of records: Produce, Fetch, ListOffsets, share groups and so on."""

from typing import Any, Final

from kdiag.errors import DecodeError
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.phrase import clause, count, listed, size
from kdiag.exchange.line.topics import Topics
from kdiag.wire import api_keys
from kdiag.wire.records.batch import RecordBatch

_ACKS: Final = {0: "0", 1: "1", -1: "all"}
_TIMES: Final = {
    -1: "latest",
    -2: "earliest",
    -3: "max timestamp",
    -4: "earliest local",
    -5: "latest tiered",
    -6: "earliest pending upload",
}
_ACKNOWLEDGEMENTS: Final = {0: "gap", 1: "accept", 2: "release", 3: "reject", 4: "renew"}
_LAST_OLD_LIST_OFFSETS: Final = 0


def records_text(fields: list[list[RecordBatch] | None]) -> str:
    """Return the amount of records in the fields of a message: `30 records 3.4 kB lz4`."""
    batches = [batch for field in fields for batch in field or ()]
    if not batches:
        return ""
    try:
        records = count(sum(batch.record_count for batch in batches), "record")
    except DecodeError:
        records = count(len(batches), "batch")  # an unreadable compressed message set
    codecs = {batch.compression: None for batch in batches}
    codecs.pop("none", None)
    marks = ["transactional"] if any(batch.is_transactional for batch in batches) else []
    if any(batch.is_control for batch in batches):
        marks.append("control")
    total = size(sum(batch.size_in_bytes for batch in batches))
    return " ".join((records, total, *codecs, *marks))


def _produce_request(request: Any, dissection: Dissection, topics: Topics) -> str:
    assert dissection.request is not None
    records = records_text(dissection.request.batches)
    return clause(
        f"{topics.partitions(request.topic_data)} {records}".strip(),
        f"acks {_ACKS.get(request.acks, request.acks)}",
        None if request.acks or dissection.response else "no response",
        f"transaction {request.transactional_id}" if request.transactional_id else None,
    )


def _produce_response(response: Any, _: Dissection, __: Topics) -> str:
    offsets = [
        str(partition.base_offset)
        for topic in response.responses
        for partition in topic.partition_responses
        if partition.base_offset >= 0 and not partition.error_code
    ]
    return f"at {listed(offsets, ', ')}" if offsets else ""


def _fetch_request(request: Any, dissection: Dissection, topics: Topics) -> str:
    replica = max(request.replica_id, request.replica_state.replica_id)
    forgotten = request.forgotten_topics_data
    what = topics.partitions(request.topics, lambda each: f"@{each.fetch_offset}")
    session = dissection.session_topics
    if not what and session:
        what = topics.pairs(session)
    elif not what and request.session_id:
        what = f"{'closes ' if request.session_epoch < 0 else ''}session {request.session_id}"
    return clause(
        f"replica {replica}: {what}" if replica >= 0 else what,
        f"without {topics.partitions(forgotten)}" if forgotten else None,
        f"wait {request.max_wait_ms} ms",
    )


def _fetch_response(response: Any, dissection: Dissection, _: Topics) -> str:
    assert dissection.response is not None
    text = records_text(dissection.response.batches)
    partitions = [each for topic in response.responses for each in topic.partitions]
    if not text:
        return "" if dissection.error_code else "nothing new"
    marks = {each.high_watermark for each in partitions}
    if len(partitions) == 1 and marks != {-1}:
        text = f"{text}, HW {partitions[0].high_watermark}"
    return text


def _list_offsets_request(request: Any, _: Dissection, topics: Topics) -> str:
    return topics.partitions(
        request.topics, lambda each: f" {_TIMES.get(each.timestamp, each.timestamp)}"
    )


def _list_offsets_response(response: Any, dissection: Dissection, _: Topics) -> str:
    is_old = dissection.exchange.version == _LAST_OLD_LIST_OFFSETS
    offsets = []
    for topic in response.topics:
        for each in topic.partitions:
            if is_old:
                offsets.append(listed([str(offset) for offset in each.old_style_offsets]))
            elif not each.error_code:
                offsets.append("none" if each.offset < 0 else str(each.offset))
    return listed(offsets, ", ")


def _metadata_request(request: Any, dissection: Dissection, topics: Topics) -> str:
    if request.topics is None or (not request.topics and dissection.exchange.version == 0):
        return "all topics"
    return topics.names(request.topics) if request.topics else "brokers only"


def _metadata_response(response: Any, _: Dissection, __: Topics) -> str:
    partitions = sum(len(topic.partitions) for topic in response.topics)
    return clause(
        count(len(response.brokers), "broker"),
        f"controller {response.controller_id}" if response.controller_id >= 0 else None,
        count(len(response.topics), "topic") if len(response.topics) > 1 else None,
        count(partitions, "partition") if response.topics else None,
    )


def _epoch_request(request: Any, _: Dissection, topics: Topics) -> str:
    return topics.partitions(request.topics, lambda each: f" epoch {each.leader_epoch}")


def _epoch_response(response: Any, _: Dissection, __: Topics) -> str:
    ends = [str(each.end_offset) for topic in response.topics for each in topic.partitions]
    return f"ends at {listed(ends, ', ')}" if ends else ""


def _delete_records_request(request: Any, _: Dissection, topics: Topics) -> str:
    return topics.partitions(
        request.topics, lambda each: " all" if each.offset < 0 else f" before {each.offset}"
    )


def _share_fetch_request(request: Any, _: Dissection, topics: Topics) -> str:
    return clause(
        f"group {request.group_id}",
        topics.partitions(request.topics),
        _acknowledged(request),
        f"wait {request.max_wait_ms} ms",
    )


def _share_fetch_response(response: Any, dissection: Dissection, _: Topics) -> str:
    assert dissection.response is not None
    acquired = sum(
        each.last_offset - each.first_offset + 1
        for topic in response.responses
        for partition in topic.partitions
        for each in partition.acquired_records
    )
    text = records_text(dissection.response.batches)
    if not text and not dissection.error_code:
        return "nothing new"
    return clause(text, f"{acquired} acquired" if acquired else None)


def _share_acknowledge_request(request: Any, _: Dissection, topics: Topics) -> str:
    return clause(
        f"group {request.group_id}", topics.partitions(request.topics), _acknowledged(request)
    )


def _acknowledged(request: Any) -> str | None:
    """Return the records that a share consumer acknowledges, by type: `accept 10`."""
    counts: dict[int, int] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            for batch in partition.acknowledgement_batches:
                records = batch.last_offset - batch.first_offset + 1
                types = batch.acknowledge_types
                each = 1 if len(types) == records else records  # one type may stand for all
                for kind in types:
                    counts[kind] = counts.get(kind, 0) + each
    words = [f"{_ACKNOWLEDGEMENTS.get(kind, kind)} {n}" for kind, n in sorted(counts.items())]
    return " ".join(words) or None


def _producers_response(response: Any, _: Dissection, __: Topics) -> str:
    found = sum(
        len(each.active_producers) for topic in response.topics for each in topic.partitions
    )
    return count(found, "producer")


def _topics_request(request: Any, _: Dissection, topics: Topics) -> str:
    return topics.partitions(request.topics).replace("[]", "")


def _described_topics(response: Any, _: Dissection, __: Topics) -> str:
    partitions = sum(len(topic.partitions) for topic in response.topics)
    return clause(count(len(response.topics), "topic"), count(partitions, "partition"))


RECORDS: Final = {
    api_keys.PRODUCE: (_produce_request, _produce_response),
    api_keys.FETCH: (_fetch_request, _fetch_response),
    api_keys.LIST_OFFSETS: (_list_offsets_request, _list_offsets_response),
    api_keys.METADATA: (_metadata_request, _metadata_response),
    api_keys.DELETE_RECORDS: (_delete_records_request, None),
    api_keys.OFFSET_FOR_LEADER_EPOCH: (_epoch_request, _epoch_response),
    api_keys.DESCRIBE_PRODUCERS: (_topics_request, _producers_response),
    api_keys.DESCRIBE_TOPIC_PARTITIONS: (_topics_request, _described_topics),
    api_keys.SHARE_FETCH: (_share_fetch_request, _share_fetch_response),
    api_keys.SHARE_ACKNOWLEDGE: (_share_acknowledge_request, None),
}
"""The phrases of request and response by API key."""
