from collections.abc import Iterator

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.wire.api.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from lab_ends.several.image_waits import until_image

BOTH = NewTopic("both", assignments={0: (1, 2)})
MOVED = NewTopic("moved", assignments={0: (2, 1)})


@pytest.fixture
def lab() -> Iterator[LabCluster]:
    """Return two brokers; the second was away, and does not lead what it prefers to."""
    with LabCluster(LabSettings((BOTH, MOVED), node_count=2)) as running:
        running.stop_node(2)
        yield running


def elect(
    lab: LabCluster, topic: str | None = "moved", partition: int = 0, kind: int = 0
) -> dict[str, str]:
    """Return the errors by topic; a topic without any is left out."""
    asked = None if topic is None else [TopicPartitions(topic=topic, partitions=[partition])]
    with LabClient(lab.node(1).port) as client:
        request = ElectLeadersRequest(election_type=kind, topic_partitions=asked)
        response = client.ask(request, ElectLeadersResponse, 2)
    if response.error_code:
        return {"": error_name(response.error_code)}
    return {
        each.topic: error_name(result.error_code)
        for each in response.replica_election_results
        for result in each.partition_result
    }


def test_the_preferred_replica_leads_when_it_is_in_sync(lab: LabCluster) -> None:
    """Not before."""
    assert elect(lab) == {"moved": "PREFERRED_LEADER_NOT_AVAILABLE"}
    assert elect(lab, "both") == {"both": "ELECTION_NOT_NEEDED"}
    lab.start_node(2)
    until_image(lab.controller, lambda image: image.topics["moved"].partitions[0].isr == (2, 1))
    assert elect(lab, None) == {"moved": "NONE"}
    assert lab.controller.image.topics["moved"].partitions[0].leader == 2


def test_what_nobody_leads_is_led_by_any_if_that_is_allowed(lab: LabCluster) -> None:
    """By one that was not in sync, too; not where somebody leads."""
    lab.start_node(2)
    assert elect(lab, "both", kind=1) == {"both": "ELECTION_NOT_NEEDED"}
    lab.stop_node(2)
    lab.controller.create_topic(NewTopic("lost", assignments={0: (1,)}))
    lab.controller.remove_broker(1)
    assert elect(lab, "lost", kind=1) == {"lost": "ELIGIBLE_LEADERS_NOT_AVAILABLE"}


@pytest.mark.parametrize(("topic", "partition"), [("nowhere", 0), ("both", 7)])
def test_what_is_not_there_is_refused(lab: LabCluster, topic: str, partition: int) -> None:
    """Each by itself; an unknown kind as a whole."""
    assert elect(lab, topic, partition) == {topic: "UNKNOWN_TOPIC_OR_PARTITION"}
    assert elect(lab, kind=7) == {"": "INVALID_REQUEST"}
