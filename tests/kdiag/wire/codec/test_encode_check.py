from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker
from kdiag.wire.api.vote import VoteRequest
from kdiag.wire.codec.encode_check import find_fault
from tiers.cases import for_each


def test_a_message_that_can_be_written_has_no_fault() -> None:
    """The check finds nothing in a message within its version."""
    assert find_fault(MetadataResponse(brokers=[MetadataResponseBroker(host="h")]), 12) is None


@for_each(
    ("message", "why"),
    [
        (MetadataResponse(brokers="x"), "brokers: expected a list, got str"),  # type: ignore[arg-type]
        (MetadataResponse(brokers=[3]), r"brokers[0]: expected MetadataResponseBroker, got int"),  # type: ignore[list-item]
        (MetadataResponse(controller_id="1"), "controllerId: expected int32, got str"),  # type: ignore[arg-type]
        (VoteRequest(cluster_id=3), "clusterId: expected str, got int"),  # type: ignore[arg-type]
    ],
)
def test_the_first_fault_is_named(message: MetadataResponse, why: str) -> None:
    """The path leads to the field, the reason says what it should hold."""
    version = 1

    assert why == str(find_fault(message, version))
