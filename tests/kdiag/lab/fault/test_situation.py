from collections.abc import Callable

import pytest

from kdiag.lab.fault.fault_plan import FaultCall
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.fault.situation import Situation, duration_ns
from kdiag.wire.api.end_txn import EndTxnRequest
from kdiag.wire.api.fetch import FetchRequest
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.metadata import MetadataRequest
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.schema import Struct

CASES = [
    ("storm=1s", HeartbeatRequest(group_id="g"), "NOT_COORDINATOR"),
    ("storm=1s", EndTxnRequest(), "NOT_COORDINATOR"),
    ("storm=1s", FindCoordinatorRequest(key="g"), None),
    ("move_coordinator=1s", HeartbeatRequest(group_id="g"), "NOT_COORDINATOR"),
    ("move_coordinator=1s", HeartbeatRequest(group_id="other"), None),
    ("group=o* move_coordinator=1s", HeartbeatRequest(group_id="other"), "NOT_COORDINATOR"),
    ("move_coordinator=1s", FindCoordinatorRequest(key="g"), "COORDINATOR_NOT_AVAILABLE"),
    ("change_leader=1s", FetchRequest(), "NOT_LEADER_OR_FOLLOWER"),
    ("change_leader=1s", MetadataRequest(), "LEADER_NOT_AVAILABLE"),
    ("change_leader=1s", HeartbeatRequest(group_id="g"), None),
    ("client_id=app-1 storm=1s", HeartbeatRequest(group_id="g"), "NOT_COORDINATOR"),
    ("client_id=x storm=1s", HeartbeatRequest(group_id="g"), None),
    ("node=2 change_leader=1s", FetchRequest(), None),
    ("shrink_isr=1s", ProduceRequest(acks=-1), "NOT_ENOUGH_REPLICAS"),
    ("shrink_isr=1s", ProduceRequest(acks=1), None),
]


@pytest.mark.parametrize(("text", "request_", "error"), CASES)
def test_others_get_an_error_as_long_as_it_lasts(
    call_of: Callable[..., FaultCall], text: str, request_: Struct, error: str | None
) -> None:
    """If they are concerned."""
    planned = Situation(parse_fault(text), 1, ("g",)).effect_on(call_of(request_))
    assert (planned and planned.effect.error) == error


def test_metadata_shows_who_is_in_sync(call_of: Callable[..., FaultCall]) -> None:
    """That takes no error, so the effect itself is handed on."""
    rule = parse_fault("Produce topic=orders shrink_isr=2s")
    planned = Situation(rule, 1).effect_on(call_of(MetadataRequest()))
    assert planned is not None
    assert (planned.match.topic, planned.effect) == ("orders", rule.effect)
    assert duration_ns(rule.effect) == 2_000_000_000
