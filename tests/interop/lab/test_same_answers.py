"""A lab and Kafka are asked the same, and answer the same: error codes and every other field.

What differs for a reason is in `known_differences.toml`: the question, the field, and why.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import decode
from kdiag.wire.error_code import error_name
from kdiag.wire.header import read_response_header
from kdiag.wire.schema import ZERO_UUID, Struct, Versions, fields_of
from lab_ends.asked.group_questions import group_questions
from lab_ends.asked.questions import QUESTIONS, TOPICS, Question
from lab_ends.asked.transaction_questions import transaction_questions
from lab_ends.lab_client import LabClient
from real_kafka import topic_maker
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import USUAL

pytestmark = pytest.mark.soak

KEPT: Final = {"retention.ms": "-1"}
COMPACTED: Final = {"cleanup.policy": "compact", **KEPT}
DIFFERENCES: Final = tomllib.loads(
    Path(__file__).with_name("known_differences.toml").read_text("utf-8")
)
TEXTS: Final = frozenset(("error_message", "batch_index_error_message", "documentation"))
"""Fields whose words are each one's own; whether there are any is compared, too."""
OWN: Final = frozenset(
    (
        "cluster_id",
        "leader",
        "log_append_time_ms",
        "log_dir",
        "member_id",
        "port",
        "producer_id",
        "session_id",
        "throttle_time_ms",
        "total_bytes",
        "usable_bytes",
    )
)
"""Fields whose values are each one's own."""


class Peer(NamedTuple):
    """One of the two that are asked."""

    port: int
    topic_ids: Mapping[str, bytes]


class Peers(NamedTuple):
    """Both."""

    lab: Peer
    kafka: Peer
    spoken: Mapping[int, Versions]
    kafkas: Mapping[int, Versions]


def versions_of(port: int) -> dict[int, Versions]:
    """Return what is spoken, as ApiVersions tells."""
    request = ApiVersionsRequest(client_software_name="kdiag", client_software_version="1")
    with LabClient(port) as client:
        response = client.ask(request, ApiVersionsResponse, 3)
    return {
        each.api_key: Versions(each.min_version, each.max_version) for each in response.api_keys
    }


def peer_at(port: int) -> Peer:
    """Return one with the ids of its topics."""
    with LabClient(port) as client:
        while True:
            codes = []
            for kind in (0, 1):
                ask = FindCoordinatorRequest(key_type=kind, coordinator_keys=["k"])
                found = client.ask(ask, FindCoordinatorResponse, 4)
                codes += [each.error_code for each in found.coordinators]
            init = InitProducerIdRequest(transactional_id=None)
            codes.append(client.ask(init, InitProducerIdResponse, 4).error_code)
            response = client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
            ids = {each.name or "": each.topic_id for each in response.topics}
            if TOPICS.keys() <= ids.keys() and not any(codes):
                return Peer(port, ids)


@pytest.fixture(scope="module")
def peers(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Peers]:
    """Yield a lab and a Kafka with the same topics, both without auto-created ones."""
    get_kafka_jars(USUAL)
    configs = {name: COMPACTED if name == "payments" else KEPT for name in TOPICS}
    new = tuple(NewTopic(name, count, configs=configs[name]) for name, count in TOPICS.items())
    groups = GroupCoordinatorConfig(group_initial_rebalance_delay_ms=0)
    settings = LabSettings(topics=new, is_creating_topics=False, group_config=groups)
    with ExitStack() as running:
        folder = tmp_path_factory.mktemp("kafka")
        properties = {
            "offsets.topic.num.partitions": "50",
            "transaction.state.log.num.partitions": "50",
            "group.consumer.assignment.interval.ms": "0",
            "group.consumer.min.assignment.interval.ms": "0",
        }
        cluster = running.enter_context(KafkaCluster(USUAL, folder, properties=properties))
        lab = running.enter_context(LabCluster(settings))
        for name, count in TOPICS.items():
            topic_maker.create(cluster.bootstrap, name, partitions=count, config=configs[name])
        port = int(cluster.bootstrap.rpartition(":")[2])
        yield Peers(
            peer_at(lab.nodes[0].port),
            peer_at(port),
            versions_of(lab.nodes[0].port),
            versions_of(port),
        )


def told(value: Any, cls: type[Struct], version: int, peer: Peer) -> dict[str, Any]:
    """Return a response as a tree in which what is each one's own looks the same."""
    tree: dict[str, Any] = {}
    names = {topic_id: name for name, topic_id in peer.topic_ids.items()}
    for field in fields_of(cls):
        if not field.is_in(version):
            continue
        given = getattr(value, field.name)
        if field.name in TEXTS:
            tree[field.name] = bool(given)
        elif field.name in OWN and given not in (-1, "", None):
            tree[field.name] = "own"
        elif field.name == "error_code":
            tree[field.name] = error_name(given)
        elif isinstance(given, Struct):
            tree[field.name] = told(given, type(given), version, peer)
        elif isinstance(given, list) and given and isinstance(given[0], Struct):
            told_ones = [told(each, type(each), version, peer) for each in given]
            tree[field.name] = sorted(told_ones, key=repr)
        elif isinstance(given, bytes) and len(given) == len(ZERO_UUID) and given != ZERO_UUID:
            tree[field.name] = names.get(given, "an id")
        elif isinstance(given, bytes):
            tree[field.name] = f"{len(given)} bytes"
        else:
            tree[field.name] = given
    return tree


def answer(peer: Peer, question: Question, version: int) -> dict[str, Any] | str:
    """Return what is answered, or that the connection ends."""
    api = question.key
    with LabClient(peer.port) as client:
        client.socket.settimeout(question.patience_s)
        client.send(question.request(version, peer.topic_ids), version)
        try:
            frame = client.receive_frame()
        except TimeoutError:
            return "nothing"
    if not frame:
        return "closed"
    head = read_response_header(frame, api.key, version)
    cls = api.response_class()
    return told(decode(cls, version, frame, head.body_offset), cls, version, peer)


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yield what differs: the path of a field, what the lab says, and what Kafka says."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            yield from differences(ours.get(name), theirs.get(name), f"{path}.{name}".lstrip("."))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for one, other in zip(ours, theirs, strict=True):
            yield from differences(one, other, path)
    elif ours != theirs:
        yield f"{path}: {ours!r}, Kafka {theirs!r}"


def is_known(line: str) -> bool:
    """Return whether a difference is in the file."""
    return any(re.search(each["line"], line) for each in DIFFERENCES["difference"])


def merged(lines: list[str]) -> list[str]:
    """Return lines of the same difference as one, with all the versions that have it."""
    versions: dict[str, list[str]] = {}
    for line in lines:
        api, version, rest = line.split(" ", 2)
        versions.setdefault(f"{api} {rest}", []).append(version.rstrip(","))
    return [f"{line} ({' '.join(each)})" for line, each in versions.items()]


def test_versions_are_the_same(peers: Peers) -> None:
    """Of every API that both have."""
    differing = {
        API_BY_KEY[key].name
        for key in peers.spoken.keys() & peers.kafkas.keys()
        if peers.spoken[key] != peers.kafkas[key]
    }
    assert differing == {*DIFFERENCES["versions"]}
    missing = {API_BY_KEY[key].name for key in peers.kafkas.keys() - peers.spoken.keys()}
    assert missing == {*DIFFERENCES["missing"]}


def test_answers_are_the_same(peers: Peers) -> None:
    """In every version that the lab speaks, in one order."""
    found = []
    asked = 0
    for question in (*QUESTIONS, *group_questions(), *transaction_questions()):
        for version in question.asked_in(peers.spoken[question.key.key]):
            if not peers.kafkas[question.key.key].covers(version):
                continue
            if question.key.key == api_keys.PRODUCE and version < 3:
                continue
            asked += 1
            ours, theirs = (answer(each, question, version) for each in peers[:2])
            what = f"{question.api} {version}, {question.name}"
            found += [f"{what}: {each}" for each in differences(ours, theirs)]
    assert asked > 900
    unknown = [line for line in found if not is_known(line)]
    assert unknown == [], "\n".join(merged(unknown))
    lines = [each["line"] for each in DIFFERENCES["difference"]]
    assert [line for line in lines if not any(re.search(line, each) for each in found)] == []
