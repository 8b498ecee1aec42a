from typing import Any

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.exchange.secrets.redaction import REDACTED
from kdiag.report.tables.exchanges import facts_of
from kdiag.report.tables.outcomes import COLUMNS
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from kdiag.wire.api.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kdiag.wire.error_code import code_of_name, error_name
from recordings.exchange_maker import cut_frame, make_exchange

TOPIC_ID = bytes(range(16))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"


def cells_of(exchange: Exchange, names: TopicNames | None = None) -> dict[str, Any]:
    """Return the cells of an exchange."""
    facts = facts_of(Dissection(exchange), names or TopicNames())
    return {each.name: each.value(facts) for each in COLUMNS}


def test_each_part_of_an_answer_has_its_outcome() -> None:
    """By the topic's name, or its id; of what could not be read nothing is known."""
    parts = [PartitionProduceResponse(index=1, error_code=19), PartitionProduceResponse(index=2)]
    topic = TopicProduceResponse(name="orders", topic_id=TOPIC_ID, partition_responses=parts)
    response = ProduceResponse(responses=[topic])
    named = cells_of(make_exchange(ProduceRequest(), response, version=9))["outcomes"]
    by_id = make_exchange(ProduceRequest(), response, version=13)
    cut = make_exchange(ProduceRequest(), response, version=9)
    assert cut.response is not None
    cut.response = cut_frame(cut.response.data, 10)

    assert named == (("NOT_ENOUGH_REPLICAS", "orders", 1), (None, "orders", 2))
    assert cells_of(by_id)["outcomes"][0] == ("NOT_ENOUGH_REPLICAS", ID_TEXT, 1)
    names = TopicNames({ID_TEXT: "later"})
    assert cells_of(by_id, names)["outcomes"][1] == (None, "later", 2)
    assert cells_of(cut)["outcomes"] is None
    assert cells_of(make_exchange(ProduceRequest(), version=9))["outcomes"] is None


def test_what_an_administrator_changed_has_no_secrets_and_is_no_change_if_refused() -> None:
    """A member that asks has its instance, and Metadata the addresses of brokers."""
    configs = [
        AlterableConfig(name="retention.ms", value="1"),
        AlterableConfig(name="ssl.keystore.password", value="hunter2"),
    ]
    resource = AlterConfigsResource(resource_type=2, resource_name="orders", configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    refused = AlterConfigsResourceResponse(error_code=29, resource_name="orders")
    response = IncrementalAlterConfigsResponse(responses=[refused])
    member = HeartbeatRequest(group_id="fleet", group_instance_id="host-1")
    brokers = [MetadataResponseBroker(node_id=1, host="one", port=9092)]
    metadata = (MetadataRequest(), MetadataResponse(brokers=brokers))

    changed = make_exchange(request, IncrementalAlterConfigsResponse(), version=1)
    assert cells_of(changed)["change"] == (
        ["orders"],
        f"set retention.ms=1, ssl.keystore.password={REDACTED}",
    )
    assert cells_of(make_exchange(request, response, version=1))["change"] is None
    beat = cells_of(make_exchange(member, HeartbeatResponse(), version=4))
    assert (beat["group_instance_id"], beat["brokers"]) == ("host-1", None)
    assert cells_of(make_exchange(*metadata, version=9))["brokers"] == ((1, "one", 9092),)


def test_the_name_of_an_error_leads_back_to_its_code() -> None:
    """That of one which is not known, too."""
    assert [code_of_name(error_name(code)) for code in (-1, 19, 1234)] == [-1, 19, 1234]
