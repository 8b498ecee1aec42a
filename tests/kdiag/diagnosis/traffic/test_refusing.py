"""What is refused is a finding: who cannot do what, how often, since when. Normal life is none."""

from collections.abc import Sequence

import pytest

from kdiag.diagnosis.traffic.refusing import LASTING_NS, Refusing
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.findings.finding import Finding
from kdiag.wire.api.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kdiag.wire.api.join_group import JoinGroupRequest, JoinGroupResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kdiag.wire.api.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kdiag.wire.error_code import ERROR_BY_CODE
from recordings.exchange_maker import make_connection, make_exchange
from tiers.cases import for_each

MS = 1_000_000
CODES = {each.name: each.code for each in ERROR_BY_CODE.values()}
BROKER = "10.0.0.2:9092"


def at(exchange: Exchange, at_ms: float) -> Exchange:
    """Return an exchange that was asked so long after the start."""
    for frame in (exchange.request, exchange.response):
        assert frame is not None
        frame.first_byte_ns += int(at_ms * MS)
        frame.last_byte_ns += int(at_ms * MS)
    return exchange


def produce(error: str, at_ms: float, topic: str = "orders", client: str = "shop") -> Exchange:
    """Return a Produce exchange of one partition."""
    answer = PartitionProduceResponse(index=1, error_code=CODES[error])
    response = ProduceResponse([TopicProduceResponse(topic, partition_responses=[answer])])
    made = make_exchange(ProduceRequest(), response, version=9, client_id=client)
    return at(made, at_ms)


def find(error: str, at_ms: float, topic: str, client: str = "shop") -> Exchange:
    """Return a Metadata exchange about one topic."""
    named = MetadataResponseTopic(error_code=CODES[error], name=topic)
    response = MetadataResponse(topics=[named])
    return at(make_exchange(MetadataRequest(), response, version=9, client_id=client), at_ms)


def beat(error: str, at_ms: float, number: int = 1, client: str = "first") -> Exchange:
    """Return a heartbeat of a static member."""
    request = HeartbeatRequest(group_id="fleet", group_instance_id="host-1")
    response = HeartbeatResponse(error_code=CODES[error])
    connection = make_connection(number)
    made = make_exchange(
        request, response, version=4, client_id=client, connection=connection, number=number
    )
    return at(made, at_ms)


def found(exchanges: Sequence[Exchange], causes: Sequence[str] = ()) -> list[Finding]:
    """Return the findings about exchanges."""
    refusing = Refusing(TopicNames())
    for each in exchanges:
        refusing.add(Dissection(each))
    return list(refusing.findings(causes))


def titles(exchanges: Sequence[Exchange], causes: Sequence[str] = ()) -> list[str]:
    """Return what the findings are called."""
    return [f"{each.id} {each.title}" for each in found(exchanges, causes)]


def test_refused_writes_are_an_error_with_count_share_and_times() -> None:
    """And with the advice of the error."""
    quick = [produce("NONE", each, client="other") for each in range(5)]
    good = [produce("NONE", each) for each in range(3)]
    bad = [produce("NOT_ENOUGH_REPLICAS", 100 + each) for each in range(2)]
    (finding,) = found([*quick, *good, *bad])

    assert finding.title == (
        "shop cannot write to orders[1]: 2 of 5 Produce requests refused with NOT_ENOUGH_REPLICAS"
        " from 03:04:05.100 to 03:04:05.101 UTC, none succeeded since, not over at the end of the"
        " capture"
    )
    assert (finding.id, finding.severity) == ("KD4501", "error")
    assert "min.insync.replicas" in finding.fix
    assert finding.fix.endswith("See `kdiag errcode NOT_ENOUGH_REPLICAS`.")
    assert finding.evidence["clients"] == {"shop": 2}


def test_a_refusal_that_ended_is_a_warning() -> None:
    """A success about the same partition ends it; one about another does not."""
    bad = produce("NOT_ENOUGH_REPLICAS", 0)
    (over,) = found([bad, produce("NONE", 1)])
    assert over.id == "KD4502"
    assert over.title.endswith("NOT_ENOUGH_REPLICAS at 03:04:05.000 UTC; later ones succeeded")
    (open_,) = found([bad, produce("NONE", 1, topic="others")])
    assert open_.id == "KD4501"


@for_each("error", ["NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION"])
def test_errors_of_elections_count_only_if_they_last(error: str) -> None:
    """Three times in five seconds at least, and without a success in between."""
    lasts_ms = LASTING_NS // MS
    lasting = [find(error, each, "orders") for each in (0, lasts_ms / 2, lasts_ms)]
    assert [each.id for each in found(lasting)] == ["KD4501"]
    assert found([find(error, each, "orders") for each in (0, 1, lasts_ms - 100)]) == []
    assert found(lasting[::2]) == [], "twice"
    between = find("NONE", lasts_ms / 2 + 1_000, "orders")
    assert found([*lasting[:2], between, lasting[2]]) == [], "two elections"


@for_each(
    "error",
    ["MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS", "FETCH_SESSION_ID_NOT_FOUND", "NONE"],
)
def test_answers_of_the_protocol_are_no_refusals(error: str) -> None:
    """However often they come."""
    assert found([beat(error, each * 1_000) for each in range(20)]) == []


def test_one_finding_names_all_clients_and_apis_that_the_same_error_hits() -> None:
    """The one that is hit most first; with what else explains it."""
    many = [produce("NOT_LEADER_OR_FOLLOWER", each * 1_000) for each in range(7)]
    few = [produce("NOT_LEADER_OR_FOLLOWER", each * 1_000, client="b") for each in range(2)]
    (title,) = titles([*many, *few], ["brokers 1, 2 advertise the same address, lb:9092"])
    assert title.startswith("KD4501 shop and b cannot write to orders[1]: 9 of 9 Produce requests")
    assert title.endswith("(shop 7, b 2; brokers 1, 2 advertise the same address, lb:9092)")


def test_a_topic_that_is_not_there_is_named_with_one_that_is_like_it() -> None:
    """If the capture shows one; others are not like it."""
    wrong = [find("UNKNOWN_TOPIC_OR_PARTITION", each * 1_000, "ordres") for each in range(7)]
    (title,) = titles([find("NONE", 0, "orders", client="reader"), *wrong])
    assert title.endswith("(a topic with a similar name: orders)")
    (title,) = titles([find("NONE", 0, "payments", client="reader"), *wrong])
    assert "similar" not in title


def test_a_change_of_the_topic_just_before_is_named() -> None:
    """Of that topic, and not longer than a minute before; a secret value is not shown."""
    request = IncrementalAlterConfigsRequest(
        [
            AlterConfigsResource(
                resource_name="orders",
                configs=[AlterableConfig(name="min.insync.replicas", value="2")],
            )
        ]
    )
    answer = IncrementalAlterConfigsResponse()
    change = make_exchange(request, answer, version=1, client_id="admin")
    bad = [produce("NOT_ENOUGH_REPLICAS", 90), produce("NOT_ENOUGH_REPLICAS", 100)]
    (title,) = titles([change, *bad])
    assert title.endswith("(0.09 s after admin set min.insync.replicas=2)")
    error = "NOT_ENOUGH_REPLICAS"
    for other in (produce(error, 61_000), produce(error, 9, "b")):
        (title,) = titles([change, other])
        assert "admin" not in title


def test_one_fencing_proves_that_two_processes_use_an_instance_id() -> None:
    """The other one is named, if it was seen."""
    join = JoinGroupRequest(group_id="fleet", group_instance_id="host-1")
    other = make_exchange(
        join, JoinGroupResponse(), version=5, client_id="second", connection=make_connection(2)
    )
    (title,) = titles([beat("NONE", 0), at(other, 5), beat("FENCED_INSTANCE_ID", 10)])
    assert title == (
        "KD4501 first cannot stay in group fleet: 1 of 2 Heartbeat requests refused with"
        " FENCED_INSTANCE_ID at 03:04:05.010 UTC, none succeeded since (group.instance.id host-1 is"
        " used by first and second)"
    )


def test_a_disk_is_a_matter_of_its_broker() -> None:
    """Whatever the topics; that their partitions have no leader then is part of it."""
    bad = [produce("KAFKA_STORAGE_ERROR", 0), produce("KAFKA_STORAGE_ERROR", 1, "b", "web")]
    (title,) = titles([*bad, find("LEADER_NOT_AVAILABLE", 5, "orders")])
    assert title.startswith(f"KD4501 shop and web cannot write to broker {BROKER}: 2 of 2 Produce")
    assert title.endswith("(shop 1, web 1; then 1 requests answered with LEADER_NOT_AVAILABLE)")


def test_what_is_refused_to_administrators_is_a_note() -> None:
    """Clients that write and read do not ask it."""
    result = CreatableTopicResult(name="orders", error_code=CODES["TOPIC_ALREADY_EXISTS"])
    response = CreateTopicsResponse(topics=[result])
    (finding,) = found([make_exchange(CreateTopicsRequest(), response, version=5)])
    assert (finding.id, finding.severity) == ("KD4503", "info")
    assert finding.title.startswith("app was refused CreateTopics for topic orders: 1 of 1")


def test_an_error_without_a_name_is_said_by_its_number() -> None:
    """Of a release to come."""
    made = make_exchange(HeartbeatRequest(), HeartbeatResponse(error_code=999), version=4)
    (title,) = titles([made])
    assert "requests refused with UNKNOWN(999)" in title


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_in_which_exchanges_come_does_not_matter(order: int) -> None:
    """Those that are alike are counted later than others."""
    exchanges = [produce("NOT_ENOUGH_REPLICAS", 5), produce("NOT_ENOUGH_REPLICAS", 9)]
    (finding,) = found(exchanges[::order])
    assert finding.evidence["first_time"].startswith("2026-01-02T03:04:05.005")
    assert finding.evidence["last_time"].startswith("2026-01-02T03:04:05.009")
