import pytest

from folders import CAPTURES
from kdiag.clock import NS_PER_MS
from kdiag.exchange.model import Exchange, Status
from kdiag.report.engine import open_tables
from kdiag.report.overview.overview import read_overview
from kdiag.report.sql_report import report_names
from kdiag.report.tables.catalog import TableChoice
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.join_group import JoinGroupRequest, JoinGroupResponse
from kdiag.wire.schema import Struct
from recordings.capture_tables import tables_of, tables_of_items
from recordings.exchange_maker import START_NS, make_exchange

pytestmark = pytest.mark.thorough


def test_an_overview_has_all_that_is_asked() -> None:
    """Each report, what is drawn over time, and exchanges with the reason why they are shown."""
    choice = TableChoice(bodies=False, records=True)
    with open_tables(tables_of([CAPTURES / "rebalance.pcap"], choice)) as database:
        overview = read_overview(database)

    assert overview.missing == {}
    assert {*overview.reports, "latency_over_time"} == set(report_names())
    assert overview.latencies
    assert overview.errors
    assert overview.conversations
    assert overview.rebalances
    reasons = {reason for row in overview.kept for reason in row["reasons"].split()}
    assert reasons >= {"slow", "wrong", "rebalance"}
    numbers = [row["number"] for row in overview.kept]
    assert numbers == sorted(set(numbers))


def test_tables_without_groups_lack_their_report_and_nothing_else() -> None:
    """Older streams write none; what is missing, such as records, is told with the reason."""
    tables = tables_of([CAPTURES / "rebalance.pcap"])
    del tables["rebalances"], tables["members"]
    with open_tables(tables) as database:
        overview = read_overview(database)

    assert list(overview.missing) == ["hot_keys", "rebalances"]
    assert "only when asked for (--values)" in overview.missing["hot_keys"]
    assert "no run has seen a group rebalance" in overview.missing["rebalances"]
    assert overview.rebalances == []
    assert overview.kept


def test_a_capture_without_kafka_has_an_empty_overview() -> None:
    """There is one bin, and nothing in it."""
    empty = {name: table.slice(0, 0) for name, table in tables_of([CAPTURES / "acks.pcap"]).items()}
    with open_tables(empty) as database:
        overview = read_overview(database)

    assert overview.span["exchanges"] == 0
    assert overview.bins.number == 1
    assert overview.kept == overview.latencies == []


def took(latency_ms: int, request: Struct, response: Struct) -> Exchange:
    """Return an exchange that took so long."""
    exchange = make_exchange(request, response, version=4)
    assert exchange.response is not None
    exchange.response.first_byte_ns = START_NS + latency_ms * NS_PER_MS
    return exchange


def test_health_counts_what_went_wrong_and_no_wait_that_was_asked_for() -> None:
    """A fetch may take half a second; a tenth of a second is slow where the others take 1 ms."""
    failed = HeartbeatResponse(error_code=27)
    exchanges = [
        *(took(1, HeartbeatRequest(), HeartbeatResponse()) for _ in range(19)),
        took(100, HeartbeatRequest(), failed),
        took(101, HeartbeatRequest(), HeartbeatResponse()),
        took(500, JoinGroupRequest(), JoinGroupResponse()),
        make_exchange(HeartbeatRequest(), version=4, pairing=Status.UNANSWERED),
        make_exchange(None, bytes(8), version=None, api_key=None, pairing=Status.UNMATCHED),
    ]
    for number, each in enumerate(exchanges, 1):
        each.number = each.correlation_id = number
    with open_tables(tables_of_items(*exchanges)) as database:
        health = read_overview(database).health

    assert health == {
        "requests": 23,
        "errors": 1,
        "unanswered": 1,
        "damaged": 1,
        "slow": 1,
        "retried": 1,
    }
