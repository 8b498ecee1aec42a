"""Tables tell the same of groups as the exchanges that they were made of."""

from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from folders import CAPTURES
from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.rebalance.findings import find
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.diagnosis.rebalance.model import GroupHistory
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import decode_capture
from kdiag.report.engine import open_tables
from kdiag.report.overview.groups.histories import OF_REFUSALS, TableHistories, read_histories
from kdiag.report.tables.catalog import TableChoice
from kdiag.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kdiag.wire.api.sync_group import SyncGroupRequest, SyncGroupResponse
from kdiag.wire.error_code import ERROR_BY_CODE
from kdiag.wire.schema import Struct
from recordings.capture_tables import tables_of_items
from recordings.exchange_maker import make_exchange

MS = 1_000_000
_CODES = {each.name: each.code for each in ERROR_BY_CODE.values()}
code_of = _CODES.__getitem__


class GroupExchanges:
    """What the members of groups ask, and are told, one exchange each millisecond."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def add(self, request: Struct, response: Struct, version: int) -> None:
        """Add an exchange."""
        number = len(self.exchanges) + 1
        made = make_exchange(request, response, version=version, number=number)
        made.correlation_id = number
        for frame in (made.request, made.response):
            assert frame is not None
            frame.first_byte_ns += number * MS
            frame.last_byte_ns += number * MS
            frame.first_packet = number
        self.exchanges.append(made)

    def join(self, member: str, generation: int, code: int = 0, **facts: Any) -> None:
        """Add a JoinGroup, answered with the member as its own leader."""
        protocols = [JoinGroupRequestProtocol(name=each, metadata=b"") for each in ("range", "rr")]
        request = JoinGroupRequest(
            group_id="billing", session_timeout_ms=9_000, protocols=protocols, **facts
        )
        members = [JoinGroupResponseMember(member_id=member)]
        told = JoinGroupResponse(
            error_code=code,
            generation_id=generation,
            member_id=member,
            leader=member,
            members=[] if code else members,
        )
        self.add(request, told, 9)

    def beat(self, member: str, code: int, generation: int = 1) -> None:
        """Add a heartbeat."""
        request = HeartbeatRequest(group_id="billing", member_id=member, generation_id=generation)
        self.add(request, HeartbeatResponse(error_code=code), 4)

    def commit(self, member: str, code: int, generation: int = 1, group: str = "billing") -> None:
        """Add a commit."""
        request = OffsetCommitRequest(
            group_id=group, member_id=member, generation_id_or_member_epoch=generation
        )
        partition = OffsetCommitResponsePartition(partition_index=0, error_code=code)
        topic = OffsetCommitResponseTopic(name="orders", partitions=[partition])
        self.add(request, OffsetCommitResponse(topics=[topic]), 8)


def refused() -> GroupExchanges:
    """Return a group whose members are refused all that can be refused."""
    story = GroupExchanges()
    story.commit("early", code_of("UNKNOWN_MEMBER_ID"))  # nobody knows yet of which kind it is
    story.beat("stranger", code_of("UNKNOWN_MEMBER_ID"))  # it was not seen as a member
    story.join("a", 1, group_instance_id="shop-1")
    for code in (code_of("FENCED_INSTANCE_ID"), code_of("FENCED_INSTANCE_ID")):
        story.beat("a", code)
    sync = SyncGroupRequest(group_id="billing", member_id="a", generation_id=1)
    story.add(sync, SyncGroupResponse(error_code=code_of("FENCED_INSTANCE_ID")), 5)
    story.beat("a", code_of("UNKNOWN_MEMBER_ID"))
    story.commit("a", code_of("ILLEGAL_GENERATION"))
    story.commit("a", code_of("NOT_COORDINATOR"))
    story.commit("", code_of("ILLEGAL_GENERATION"), -1)  # of a consumer without a group
    story.commit("a", code_of("ILLEGAL_GENERATION"), group="another")
    story.join("b", -1, code_of("INCONSISTENT_GROUP_PROTOCOL"))
    story.join("", -1, code_of("GROUP_MAX_SIZE_REACHED"))
    story.join("c", -1, code_of("MEMBER_ID_REQUIRED"))
    story.beat("a", code_of("REBALANCE_IN_PROGRESS"))
    beat = ConsumerGroupHeartbeatRequest(group_id="shares", member_id="x", member_epoch=3)
    lost = ConsumerGroupHeartbeatResponse(error_code=code_of("COORDINATOR_LOAD_IN_PROGRESS"))
    story.add(beat, lost, 0)
    story.commit("x", code_of("STALE_MEMBER_EPOCH"), group="shares")
    return story


def told_by_items(items: list[Exchange]) -> list[GroupHistory]:
    """Return the histories that exchanges tell."""
    names = TopicNames()
    events = CaptureEvents(names.name)
    for exchange in items:
        dissection = Dissection(exchange)
        names.learn(dissection)
        events.add(dissection)
    return histories_of(events.in_order(), "capture")


def told_by_tables(tables: dict[str, pa.Table]) -> TableHistories:
    """Return what tables tell."""
    with open_tables(tables) as database:
        return read_histories(database)


def plain(history: GroupHistory) -> GroupHistory:
    """Return what findings are made of: no packets, and no partitions that moved."""
    rebalances = []
    for each in history.rebalances:
        causes = [replace(cause, evidence=()) for cause in each.causes]
        rebalances.append(replace(each, causes=causes, moved=None, is_told=True))
    return replace(history, rebalances=rebalances)


@pytest.mark.thorough
def test_tables_tell_of_groups_what_exchanges_tell() -> None:
    """Rebalances, members and refusals, and so the findings word for word."""
    recorded = [
        each for each in decode_capture([CAPTURES / "rebalance.pcap"]) if isinstance(each, Exchange)
    ]
    ids = set()
    for items in (refused().exchanges, recorded):
        expected = told_by_items(items)
        told = told_by_tables(tables_of_items(*items, choice=TableChoice(bodies=True)))
        assert [*map(plain, told.histories)] == [*map(plain, expected)]
        assert told.findings() == [found for each in expected for found in find(each)]
        assert (told.bare, told.left_out) == (0, 0)
        ids |= {each.id for each in told.findings()}
    assert ids >= {"KD3304", "KD3307", "KD3310", "KD3312"}


@pytest.mark.thorough
def test_without_bodies_nothing_is_told_that_takes_them() -> None:
    """Who was fenced, and with which commits: those that would tell it are counted."""
    story = refused()
    told = told_by_tables(tables_of_items(*story.exchanges, choice=TableChoice(bodies=False)))

    assert told.bare == 13
    assert OF_REFUSALS.isdisjoint(each.id for each in told.findings())
