"""Questions that a lab and Kafka are asked alike: valid, wrong, old and new, and about unknown ids.

    Question("Fetch", "beyond the end", {"topics": [...]})

A body has Kafka's field names in snake case. `"orders"` where an id is expected stands for the id
of that topic; fields that a version has not are left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.wire.catalog import API_BY_KEY, Api, api_named
from kdiag.wire.records.record import BatchHeader
from kdiag.wire.schema import ZERO_UUID, Kind, Struct, Versions, fields_of
from made_values.log_maker import produced, written_by

TOPICS: Final = {"orders": 2, "payments": 1, "grown": 1}
"""The topics that are there, with their numbers of partitions."""
UNKNOWN_ID: Final = b"\x01" * 16

_BATCH: Final = produced(b"value")
_BAD_NAMES: Final = ("", ".", "..", "a b", "x" * 250)


class Question(NamedTuple):
    """A request in all versions.

    Attributes:
        api: Kafka's name of the API.
        name: says what is asked; unique within the API.
        body: the request's fields.
        versions: those in which it is asked; those that the lab speaks by default.
        patience_s: for how long a response is waited for.
    """

    api: str
    name: str
    body: Mapping[str, Any]
    versions: str = ""
    patience_s: float = 30

    @property
    def key(self) -> Api:
        """Return the API."""
        api = api_named(self.api)
        assert api is not None
        return API_BY_KEY[api.key]

    def request(self, version: int, topic_ids: Mapping[str, bytes]) -> Struct:
        """Return the request in a version."""
        cls = self.key.request_class()
        return msgspec.convert(_fields(cls, self.body, version, topic_ids), cls)

    def asked_in(self, spoken: Versions) -> range:
        """Return the versions in which it is asked."""
        low, high = Versions.parse(self.versions) if self.versions else spoken
        return range(max(low, spoken.low), min(high, spoken.high) + 1)


def _fields(
    cls: type[Struct], body: Mapping[str, Any], version: int, topic_ids: Mapping[str, bytes]
) -> dict[str, Any]:
    """Return the fields that a version has, with ids for the names of topics."""
    by_name = {field.name: field for field in fields_of(cls)}
    given = {}
    for name, value in body.items():
        field = by_name[name]
        if not field.is_in(version):
            continue
        if field.kind is Kind.UUID:
            given[name] = topic_ids.get(value, UNKNOWN_ID) if isinstance(value, str) else value
        elif isinstance(field.kind, Kind) or value is None:
            given[name] = value
        elif field.is_array:
            given[name] = [_fields(field.kind, each, version, topic_ids) for each in value]
        else:
            given[name] = _fields(field.kind, value, version, topic_ids)
    return given


def _topic(name: str, **fields: Any) -> dict[str, Any]:
    """Return a topic by its name and its id, of which a version has one."""
    return {"name": name, "topic": name, "topic_id": name, **fields}


def _produce(name: str, records: bytes | None, **fields: Any) -> Question:
    topic = fields.pop("topic", "orders")
    data = {"index": fields.pop("partition", 0), "records": records}
    named = {"name": topic, "topic_id": topic, "partition_data": [data]}
    versions = fields.pop("versions", "")
    body = {"acks": -1, "timeout_ms": 1000, "topic_data": [named], **fields}
    return Question("Produce", name, body, versions)


def _produces() -> Iterator[Question]:
    damaged = bytearray(_BATCH)
    damaged[-1] ^= 1
    yield _produce("a batch", _BATCH)
    yield _produce("acks=1", _BATCH, acks=1)
    yield _produce("acks=2", _BATCH, acks=2)
    yield _produce("an unknown topic", _BATCH, topic="nowhere")
    yield _produce("an unknown partition", _BATCH, partition=7)
    yield _produce("a negative partition", _BATCH, partition=-1)
    yield _produce("an internal topic", _BATCH, topic="__consumer_offsets")
    yield _produce("a damaged batch", bytes(damaged))
    yield _produce("null", None, versions="9")._replace(patience_s=1)
    yield _produce("nothing", b"")
    yield _produce("half a batch", _BATCH[: len(_BATCH) // 2])
    yield _produce("two batches", _BATCH * 2)
    yield _produce("magic 1", produced(b"v", header=BatchHeader(magic=1)))
    yield _produce("too large", produced(b"v" * 1_100_000), versions="9")
    yield _produce("far in the future", produced(b"v", timestamp=4_000_000_000_000))
    yield _produce("without a key, compacted", produced(b"v", key=None), topic="payments")
    yield _produce("a sequence of an unknown producer", produced(b"v", header=written_by(900, 5)))
    yield _produce("a producer begins", produced(b"v", header=written_by(901, 0)))
    yield _produce("a producer goes on", produced(b"v", header=written_by(901, 1)), versions="9")
    yield _produce("a gap", produced(b"v", header=written_by(901, 7)))
    yield _produce("an old epoch", produced(b"v", header=written_by(902, 0, epoch=3)))
    yield _produce("an older epoch", produced(b"v", header=written_by(902, 0, epoch=1)))
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        yield _produce(codec, produced(b"v", header=BatchHeader(compression=codec)))


def _fetch(name: str, offset: int = 0, **fields: Any) -> Question:
    topic = fields.pop("topic", "orders")
    partition = {
        "partition": fields.pop("partition", 0),
        "fetch_offset": offset,
        "partition_max_bytes": fields.pop("partition_max_bytes", 1 << 20),
        "current_leader_epoch": fields.pop("current_leader_epoch", -1),
        "last_fetched_epoch": fields.pop("last_fetched_epoch", -1),
    }
    named = {"topic": topic, "topic_id": topic, "partitions": [partition]}
    return Question("Fetch", name, {"topics": [named], "max_bytes": 1 << 20, **fields})


def _fetches() -> Iterator[Question]:
    yield _fetch("from the start")
    yield _fetch("committed", isolation_level=1)
    yield _fetch("at the end", 1_000_000)
    yield _fetch("before the start", -1)
    yield _fetch("an unknown topic", topic="nowhere")
    yield _fetch("an unknown partition", partition=9)
    yield _fetch("a newer leader epoch", current_leader_epoch=5)
    yield _fetch("a diverging epoch", last_fetched_epoch=7)
    yield _fetch("one byte", partition_max_bytes=1)
    yield _fetch("an isolation that there is not", isolation_level=9)
    yield _fetch("an unknown session", session_id=77, session_epoch=3)
    yield _fetch("a session's wrong beginning", session_id=0, session_epoch=5)
    yield _fetch("the last of an unknown session", session_id=77, session_epoch=-1)
    yield Question("Fetch", "nothing", {"topics": []})


def _list_offsets(name: str, timestamp: int, **fields: Any) -> Question:
    topic = fields.pop("topic", "orders")
    partition = {
        "partition_index": fields.pop("partition", 0),
        "timestamp": timestamp,
        "current_leader_epoch": fields.pop("current_leader_epoch", -1),
    }
    named = {"name": topic, "partitions": [partition]}
    return Question("ListOffsets", name, {"replica_id": -1, "topics": [named], **fields})


def _lists_of_offsets() -> Iterator[Question]:
    for place in (-1, -2, -3, -4, -5, -6, -7):
        yield _list_offsets(f"place {place}", place)
    yield _list_offsets("a time", 1_600_000_000_000)
    yield _list_offsets("a time to come", 4_100_000_000_000)
    yield _list_offsets("committed", -1, isolation_level=1)
    yield _list_offsets("an unknown topic", -1, topic="nowhere")
    yield _list_offsets("an unknown partition", -1, partition=9)
    yield _list_offsets("a newer leader epoch", -1, current_leader_epoch=3)
    twice = [{"partition_index": 0, "timestamp": -1}] * 2
    topics = [{"name": "orders", "partitions": twice}]
    yield Question("ListOffsets", "one twice", {"replica_id": -1, "topics": topics})


def _metadata() -> Iterator[Question]:
    yield Question("Metadata", "one", {"topics": [{"name": "orders"}]})
    yield Question("Metadata", "all", {"topics": None}, "1-13")
    yield Question("Metadata", "none", {"topics": []}, "1-13")
    body = {"topics": [{"name": "nowhere"}], "allow_auto_topic_creation": False}
    yield Question("Metadata", "an unknown one", body)
    for at, name in enumerate(_BAD_NAMES):
        body = {"topics": [{"name": name}], "allow_auto_topic_creation": True}
        yield Question("Metadata", f"bad name {at}", body)
    by_id = [{"name": None, "topic_id": "orders"}]
    yield Question("Metadata", "by id", {"topics": by_id}, "10-13")
    unknown = [{"name": None, "topic_id": UNKNOWN_ID}]
    yield Question("Metadata", "an unknown id", {"topics": unknown}, "10-13")
    both = [{"name": "orders", "topic_id": "orders"}]
    yield Question("Metadata", "name and id", {"topics": both}, "10-13")
    neither = [{"name": None, "topic_id": ZERO_UUID}]
    yield Question("Metadata", "neither name nor id", {"topics": neither}, "10-13")
    body = {"topics": [{"name": "orders"}], "include_topic_authorized_operations": True}
    yield Question("Metadata", "operations", body, "8-13")
    body = {"topics": [], "include_cluster_authorized_operations": True}
    yield Question("Metadata", "the cluster's operations", body, "8-10")


def _created(name: str, topic: str, *, is_checked: bool = True, **fields: Any) -> Question:
    asked = {"name": topic, "num_partitions": 1, "replication_factor": 1, **fields}
    return Question("CreateTopics", name, {"topics": [asked], "validate_only": is_checked}, "1-7")


def _topics() -> Iterator[Question]:
    yield _created("a topic", "new")
    yield _created("by default", "new", num_partitions=-1, replication_factor=-1)
    yield _created("one that is there", "orders")
    yield _created("one that collides", "a.b_c", is_checked=False)
    yield _created("no partitions", "new", num_partitions=0)
    yield _created("minus two partitions", "new", num_partitions=-2)
    yield _created("no replicas", "new", replication_factor=0)
    yield _created("too many replicas", "new", replication_factor=3)
    for at, name in enumerate(_BAD_NAMES):
        yield _created(f"bad name {at}", name)
    for at, (key, value) in enumerate(
        (
            ("cleanup.policy", "compact"),
            ("cleanup.policy", "shred"),
            ("no.such.setting", "1"),
            ("retention.ms", "soon"),
            ("segment.bytes", "1"),
            ("retention.ms", None),
            ("min.insync.replicas", "0"),
        )
    ):
        configs = [{"name": key, "value": value}]
        yield _created(f"setting {at}", "new", configs=configs)
    assigned: dict[str, Any] = {"num_partitions": -1, "replication_factor": -1}
    for at, replicas in enumerate(
        (
            [{"partition_index": 0, "broker_ids": [1]}],
            [{"partition_index": 0, "broker_ids": [9]}],
            [{"partition_index": 0, "broker_ids": []}],
            [{"partition_index": 0, "broker_ids": [1, 1]}],
            [{"partition_index": 1, "broker_ids": [1]}],
        )
    ):
        yield _created(f"assignment {at}", "new", assignments=replicas, **assigned)
    both = [{"partition_index": 0, "broker_ids": [1]}]
    yield _created("numbers and assignments", "new", assignments=both)
    twice = [{"name": "new", "num_partitions": 1, "replication_factor": 1}] * 2
    yield Question("CreateTopics", "one twice", {"topics": twice, "validate_only": True}, "1-7")
    yield Question("CreateTopics", "nothing", {"topics": []})
    yield from _changed_topics()


def _changed_topics() -> Iterator[Question]:
    topic: dict[str, Any]
    body: dict[str, Any]
    yield Question(
        "DeleteTopics", "an unknown one", {"topic_names": ["nowhere"], "timeout_ms": 1000}, "0-5"
    )
    yield Question("DeleteTopics", "nothing", {"topic_names": [], "topics": []})
    for name, topic in (
        ("an unknown name", {"name": "nowhere", "topic_id": ZERO_UUID}),
        ("an unknown id", {"name": None, "topic_id": UNKNOWN_ID}),
        ("both", {"name": "orders", "topic_id": "orders"}),
        ("neither", {"name": None, "topic_id": ZERO_UUID}),
    ):
        yield Question("DeleteTopics", name, {"topics": [topic], "timeout_ms": 1000}, "6")
    twice = {"name": "nowhere", "topic_id": ZERO_UUID}
    yield Question("DeleteTopics", "one twice", {"topics": [twice, twice], "timeout_ms": 1000}, "6")
    for name, topic in (
        ("more", {"name": "orders", "count": 5}),
        ("as many", {"name": "orders", "count": 2}),
        ("fewer", {"name": "orders", "count": 1}),
        ("none", {"name": "orders", "count": 0}),
        ("minus one", {"name": "orders", "count": -1}),
        ("far too many", {"name": "orders", "count": 20_000}),
        ("an unknown topic", {"name": "nowhere", "count": 5}),
        ("assigned", {"name": "orders", "count": 3, "assignments": [{"broker_ids": [1]}]}),
        ("a broker unknown", {"name": "orders", "count": 3, "assignments": [{"broker_ids": [9]}]}),
        ("too few assigned", {"name": "orders", "count": 4, "assignments": [{"broker_ids": [1]}]}),
        ("no replica", {"name": "orders", "count": 3, "assignments": [{"broker_ids": []}]}),
    ):
        body = {"topics": [topic], "timeout_ms": 1000, "validate_only": True}
        yield Question("CreatePartitions", name, body)
    again: Any = {"name": "orders", "count": 5}
    body = {"topics": [again, again], "timeout_ms": 1000, "validate_only": True}
    yield Question("CreatePartitions", "one twice", body)
    yield from _pages()


def _pages() -> Iterator[Question]:
    pages: tuple[tuple[str, dict[str, Any]], ...] = (
        ("one", {"topics": [{"name": "orders"}]}),
        ("an unknown one", {"topics": [{"name": "nowhere"}]}),
        ("a bad name", {"topics": [{"name": "a b"}]}),
        ("a page", {"topics": [{"name": "orders"}], "response_partition_limit": 1}),
        ("no page", {"topics": [{"name": "orders"}], "response_partition_limit": 0}),
        (
            "from a cursor",
            {
                "topics": [{"name": "orders"}],
                "cursor": {"topic_name": "orders", "partition_index": 1},
            },
        ),
        (
            "a wrong cursor",
            {
                "topics": [{"name": "orders"}],
                "cursor": {"topic_name": "orders", "partition_index": -1},
            },
        ),
    )
    for name, asked in pages:
        yield Question("DescribeTopicPartitions", name, asked)


def _resource(kind: int, name: str, **fields: Any) -> dict[str, Any]:
    return {"resource_type": kind, "resource_name": name, **fields}


def _configs() -> Iterator[Question]:
    keys = ["retention.ms", "no.such.setting"]
    for name, resource in (
        ("a topic", _resource(2, "orders", configuration_keys=None)),
        ("some settings", _resource(2, "payments", configuration_keys=keys)),
        ("no settings", _resource(2, "orders", configuration_keys=[])),
        ("an unknown topic", _resource(2, "nowhere", configuration_keys=None)),
        ("a bad name", _resource(2, "a b", configuration_keys=None)),
        ("another broker", _resource(4, "7", configuration_keys=None)),
        ("not a broker", _resource(4, "one", configuration_keys=None)),
        ("an unknown kind", _resource(77, "x", configuration_keys=None)),
    ):
        body = {"resources": [resource], "include_synonyms": True}
        yield Question("DescribeConfigs", name, body)
    for name, resource in (
        ("a topic", _resource(2, "orders", configs=[{"name": "retention.ms", "value": "9"}])),
        ("a wrong value", _resource(2, "orders", configs=[{"name": "retention.ms", "value": "x"}])),
        ("an unknown setting", _resource(2, "orders", configs=[{"name": "nope", "value": "9"}])),
        ("null", _resource(2, "orders", configs=[{"name": "retention.ms", "value": None}])),
        ("an unknown topic", _resource(2, "nowhere", configs=[])),
        ("an unknown kind", _resource(77, "x", configs=[])),
    ):
        yield Question("AlterConfigs", name, {"resources": [resource], "validate_only": True})
    for name, setting in (
        ("set", {"name": "retention.ms", "value": "9", "config_operation": 0}),
        ("delete", {"name": "retention.ms", "value": None, "config_operation": 1}),
        ("append", {"name": "cleanup.policy", "value": "compact", "config_operation": 2}),
        ("subtract", {"name": "cleanup.policy", "value": "delete", "config_operation": 3}),
        ("append to a number", {"name": "retention.ms", "value": "9", "config_operation": 2}),
        ("an unknown operation", {"name": "retention.ms", "value": "9", "config_operation": 7}),
        ("a wrong value", {"name": "retention.ms", "value": "x", "config_operation": 0}),
        ("null", {"name": "retention.ms", "value": None, "config_operation": 0}),
        ("an unknown setting", {"name": "nope", "value": "9", "config_operation": 0}),
    ):
        resource = _resource(2, "orders", configs=[setting])
        body = {"resources": [resource], "validate_only": True}
        yield Question("IncrementalAlterConfigs", name, body)
    twice = {"name": "retention.ms", "value": "9", "config_operation": 0}
    body = {"resources": [_resource(2, "orders", configs=[twice, twice])], "validate_only": True}
    yield Question("IncrementalAlterConfigs", "one twice", body)


def _others() -> Iterator[Question]:
    partition: Any
    body: dict[str, Any]
    yield Question("DescribeCluster", "brokers", {})
    yield Question("DescribeCluster", "operations", {"include_cluster_authorized_operations": True})
    yield Question("DescribeCluster", "controllers", {"endpoint_type": 2}, "1-2")
    yield Question("DescribeCluster", "an unknown endpoint", {"endpoint_type": 7}, "1-2")
    software = {"client_software_name": "kdiag", "client_software_version": "1"}
    yield Question("ApiVersions", "versions", software)
    wrong = {"client_software_name": "k diag", "client_software_version": "1"}
    yield Question("ApiVersions", "a wrong name", wrong)
    yield Question("InitProducerId", "an id", {"transactional_id": None})
    body = {"transactional_id": None, "producer_id": 5, "producer_epoch": 2}
    yield Question("InitProducerId", "a known id", body)
    yield Question("InitProducerId", "an empty name", {"transactional_id": ""})
    for name, epoch, known in (("epoch 0", 0, -1), ("a later epoch", 5, -1), ("fenced", 0, 9)):
        partition = {"partition": 0, "current_leader_epoch": known, "leader_epoch": epoch}
        topics = [{"topic": "orders", "partitions": [partition]}]
        yield Question("OffsetForLeaderEpoch", name, {"topics": topics})
    topics = [{"topic": "nowhere", "partitions": [{"partition": 0, "leader_epoch": 0}]}]
    yield Question("OffsetForLeaderEpoch", "an unknown topic", {"topics": topics})
    for name, topic, partition, offset in (
        ("nothing", "orders", 0, 0),
        ("beyond the end", "orders", 0, 1 << 40),
        ("a negative offset", "orders", 0, -2),
        ("an unknown partition", "orders", 9, 0),
        ("an unknown topic", "nowhere", 0, 0),
        ("a compacted topic", "payments", 0, 0),
        ("an internal topic", "__consumer_offsets", 0, 0),
    ):
        partitions = [{"partition_index": partition, "offset": offset}]
        body = {"topics": [{"name": topic, "partitions": partitions}], "timeout_ms": 1000}
        yield Question("DeleteRecords", name, body)
    yield from _coordinated()
    yield from _quotas()
    yield from _moved()
    for name, numbers in (("one", [0]), ("two", [0, 1]), ("an unknown one", [9])):
        asked = [{"topic": "orders", "partitions": numbers}]
        yield Question("DescribeLogDirs", name, {"topics": asked})
    yield Question("DescribeLogDirs", "nothing", {"topics": []})


def _quotas() -> Iterator[Question]:
    filters: tuple[list[tuple[str, int, str | None]], ...]
    filters = (
        [],
        [("user", 0, "one")],
        [("user", 1, None), ("client-id", 2, None)],
        [("", 0, "one")],
        [("user", 0, "one"), ("user", 1, None)],
        [("host", 0, "one")],
        [("user", 7, "one")],
        [("user", 0, None)],
        [("user", 1, "one")],
        [("ip", 0, "127.0.0.1"), ("user", 0, "one")],
    )
    for at, parts in enumerate(filters):
        components = [
            {"entity_type": kind, "match_type": match_type, "match": match}
            for kind, match_type, match in parts
        ]
        yield Question("DescribeClientQuotas", f"filter {at}", {"components": components})
    entity = [{"entity_type": "user", "entity_name": "one"}]
    entries = [{"entity": entity, "ops": [{"key": "producer_byte_rate", "value": 1e6}]}]
    body = {"entries": entries, "validate_only": True}
    yield Question("AlterClientQuotas", "a quota", body)


def _moved() -> Iterator[Question]:
    """Yield questions about leaders and replicas; none of them moves anything."""
    for name, topic, number in (
        ("nothing to do", "orders", 0),
        ("an unknown partition", "orders", 9),
        ("an unknown topic", "nowhere", 0),
    ):
        partitions = [{"topic": topic, "partitions": [number]}]
        yield Question("ElectLeaders", name, {"topic_partitions": partitions})
        cancelled = [{"name": topic, "partitions": [{"partition_index": number}]}]
        yield Question("AlterPartitionReassignments", f"cancel: {name}", {"topics": cancelled})
        asked = [{"name": topic, "partition_indexes": [number]}]
        yield Question("ListPartitionReassignments", name, {"topics": asked})
    yield Question("ListPartitionReassignments", "all", {"topics": None})
    unclean = {"election_type": 1, "topic_partitions": [{"topic": "orders", "partitions": [0]}]}
    yield Question("ElectLeaders", "unclean, nothing to do", unclean, "1-2")
    wrong = {"election_type": 7, "topic_partitions": [{"topic": "orders", "partitions": [0]}]}
    yield Question("ElectLeaders", "an unknown kind", wrong, "1-2")
    for replicas in ((), (1, 1), (77,)):
        partition = {"partition_index": 0, "replicas": list(replicas)}
        topics = [{"name": "orders", "partitions": [partition]}]
        name = f"replicas {list(replicas)}"
        yield Question("AlterPartitionReassignments", name, {"topics": topics})


def _coordinated() -> Iterator[Question]:
    for name, kind in (("a group", 0), ("an id", 1), ("a share partition", 2), ("a kind", 9)):
        asked = {"key": "k", "key_type": kind, "coordinator_keys": ["k"]}
        yield Question("FindCoordinator", name, asked, "1-6")


QUESTIONS: Final = (
    *_produces(),
    *_fetches(),
    *_lists_of_offsets(),
    *_metadata(),
    *_topics(),
    *_configs(),
    *_others(),
)
"""In the order in which they are asked: a later one may depend on what an earlier one left."""
