import pytest

from folders import CAPTURES
from kdiag.diagnosis.rebalance.capture.exchange_events import (
    BrokersSeen,
    GroupSighting,
    PartitionCount,
    SoftwareSeen,
)
from kdiag.diagnosis.rebalance.events import (
    CoordinatorFound,
    JoinAnswered,
    JoinAsked,
    SyncAnswered,
)
from kdiag.diagnosis.rebalance.model import EvidencePlace
from kdiag.pipeline.rows.sightings import OF_ALL, OF_GROUPS, read_sightings, sighting_rows
from spark_runs.pipeline_parts import GROUP_PARTS, decoded, told_of


@pytest.mark.thorough
def test_what_was_told_is_divided_by_groups() -> None:
    """A group is in one part; what names none is for all."""
    told = told_of(decoded([CAPTURES / "rebalance.pcap"], 3, 1 << 14)["frames"])
    (part,) = told.keys() - {OF_ALL}
    kinds = {name: {each.fact.__class__ for each in read_sightings(told[name])} for name in told}

    assert part in {f"{OF_GROUPS}{number}" for number in range(GROUP_PARTS)}
    assert {JoinAsked, JoinAnswered, SyncAnswered, CoordinatorFound} <= kinds[part]
    assert kinds[OF_ALL] == {SoftwareSeen, PartitionCount, BrokersSeen}


def test_a_sighting_may_hold_text_that_is_no_utf_8() -> None:
    """As a client has sent it."""
    fact = PartitionCount(1, EvidencePlace("packet", None, 2), "orders\udcff", 3)
    sighting = GroupSighting(1, 2, 3, 0, fact)
    assert list(read_sightings([sighting_rows([sighting])])) == [sighting]
