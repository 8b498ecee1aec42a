"""What reports answer, where it is known from how the exchanges were made."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdiag.exchange.model import Connection, Exchange
from kdiag.report.arrow import arrow_schema
from kdiag.report.engine import open_tables
from kdiag.report.overview.questions import ask_report
from kdiag.report.sql_report import load_report, report_names
from kdiag.report.tables.catalog import TABLES
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.catalog import API_BY_KEY, APIS
from recordings.capture_tables import report_rows, tables_of_items
from recordings.exchange_maker import START_NS, make_connection, make_exchange, whole_frame
from tiers.cases import for_each
from tiers.sampling import IS_EXHAUSTIVE

PRODUCE, METADATA, FIND_COORDINATOR, JOIN_GROUP, SASL_HANDSHAKE, DELETE_GROUPS = (
    0,
    3,
    10,
    11,
    17,
    42,
)
SHARE_FETCH = 78
RESTORED = (METADATA, FIND_COORDINATOR, JOIN_GROUP, SASL_HANDSHAKE, DELETE_GROUPS)


def asked(api_key: int, version: int, **changes: Any) -> Exchange:
    """Return a request of an API in a version, of which the body does not matter."""
    head = api_key.to_bytes(2) + version.to_bytes(2) + bytes(4) + (3).to_bytes(2) + b"app"
    return make_exchange(head, version=version, api_key=api_key, **changes)


def offered(api_key: int, low: int, high: int) -> Exchange:
    """Return what a broker offers of an API."""
    ranges = [ApiVersion(api_key=api_key, min_version=low, max_version=high)]
    return make_exchange(ApiVersionsRequest(), ApiVersionsResponse(api_keys=ranges), version=2)


def verdict(*items: Exchange | Connection, target: str = "4.0") -> str:
    """Return the verdict on the one client."""
    (row,) = report_rows(tables_of_items(*items), "compat", target=target)
    return str(row["verdict"])


def test_compat_knows_the_minima_of_kafka_4() -> None:
    """Those of the newest message files; what was dropped there has none."""
    listed = re.findall(r"\('(\w+)', (\d+), (\d+), \d+\)", load_report("compat").sql)
    expected = {
        (api.name, api.key, 32767 if api.newest is None else api.newest.low)
        for api in APIS
        if api.newest is None or api.newest.low > 0
    }

    assert {(name, int(key), int(least)) for name, key, least in listed} == expected


@pytest.mark.thorough
@for_each("api_key", RESTORED, ids=lambda key: API_BY_KEY[key].name)
def test_a_version_that_was_deprecated_and_kept_breaks_nobody(api_key: int) -> None:
    """The list of 3.x is longer than what 4.0 removed."""
    assert verdict(asked(api_key, 0)) == "works"


@pytest.mark.thorough
@pytest.mark.parametrize(("version", "expected"), [(2, "breaks"), (3, "works")])
def test_what_a_broker_offers_is_no_pardon(version: int, expected: str) -> None:
    """Kafka 4 offers Produce v0 to v2, and refuses them."""
    assert verdict(offered(PRODUCE, 0, 13), asked(PRODUCE, version)) == expected


@pytest.mark.thorough
def test_the_newest_that_an_old_broker_offers_proves_nothing() -> None:
    """A client of today falls back to it as well."""
    assert verdict(offered(PRODUCE, 0, 2), asked(PRODUCE, 2)) == "unclear"
    assert verdict(offered(PRODUCE, 0, 2), asked(PRODUCE, 1)) == "breaks"
    assert verdict(offered(PRODUCE, 0, 2), asked(PRODUCE, 2), asked(PRODUCE, 1)) == "breaks"


@pytest.mark.thorough
def test_the_target_counts() -> None:
    """Before 4.0 nothing breaks, and the early form of share groups went with 4.1."""
    assert verdict(asked(PRODUCE, 0), target="3.9") == "works"
    assert verdict(asked(SHARE_FETCH, 0), target="4.0") == "works"
    assert verdict(asked(SHARE_FETCH, 0), target="4.1") == "breaks"


@pytest.mark.thorough
def test_what_is_gone_is_said_to_be_gone() -> None:
    """Requests of brokers and controllers before KRaft."""
    (row,) = report_rows(tables_of_items(asked(6, 8), asked(PRODUCE, 1)), "compat")

    assert row["too_old_requests"] == "Produce v1 (needs v3), UpdateMetadata v8 (gone)"
    assert (row["requests"], row["too_old"], row["asks_api_versions"]) == (2, 2, False)


@pytest.mark.thorough
def test_a_response_without_its_request_accuses_nobody() -> None:
    """Its version may be a guess."""
    lone = asked(PRODUCE, 1)
    lone.request, lone.response = None, whole_frame(bytes(10))

    assert report_rows(tables_of_items(lone), "compat") == []


@pytest.mark.thorough
def test_clients_are_told_apart_by_host_id_and_library() -> None:
    """The library is that of the connection."""
    connections = [
        make_connection(
            number,
            connection_id=f"c{number}",
            client=f"{host}:{number}",
            client_software=(software, "1") if software else None,
        )
        for number, (host, software) in enumerate(
            [("10.0.0.1", "kgo"), ("10.0.0.1", "kgo"), ("10.0.0.1", None), ("10.0.0.9", "kgo")]
        )
    ]
    exchanges = [asked(METADATA, each.number, connection=each) for each in connections]
    rows = report_rows(tables_of_items(*exchanges, *connections), "clients")

    assert [
        (row["client_host"], row["software"], row["connections"], row["apis"]) for row in rows
    ] == [
        ("10.0.0.1", None, 1, "Metadata v2"),
        ("10.0.0.1", "kgo", 2, "Metadata v0-v1"),
        ("10.0.0.9", "kgo", 1, "Metadata v3"),
    ]


def answered_after(latencies_ns: list[int], apart_ns: int = 0) -> list[Exchange]:
    """Return heartbeats with these latencies, which began one after the other."""
    exchanges = []
    for number, latency_ns in enumerate(latencies_ns):
        exchange = make_exchange(
            HeartbeatRequest(), HeartbeatResponse(), version=4, number=number + 1
        )
        assert exchange.request is not None
        assert exchange.response is not None
        exchange.request.first_byte_ns = START_NS + number * apart_ns
        exchange.request.last_byte_ns = exchange.request.first_byte_ns
        exchange.response.first_byte_ns = exchange.request.last_byte_ns + latency_ns
        exchanges.append(exchange)
    return exchanges


def percentile(ordered: list[int], part: int) -> int:
    """Return the smallest that so many of a thousand are not larger than."""
    return next(
        each
        for each in ordered
        if sum(other <= each for other in ordered) * 1000 >= part * len(ordered)
    )


PERCENTILES = (("p50_us", 500), ("p90_us", 900), ("p99_us", 990), ("p999_us", 999))


@pytest.mark.thorough
@settings(max_examples=100 if IS_EXHAUSTIVE else 8, deadline=None)
@given(st.lists(st.integers(0, 5_000_000), min_size=1, max_size=300))
def test_percentiles_are_answers_of_that_rank(latencies_ns: list[int]) -> None:
    """The smallest answer that so many of a hundred are not slower than."""
    tables = tables_of_items(*answered_after(latencies_ns))
    (row,) = report_rows(tables, "latency")
    (counted,) = report_rows(tables, "latency_over_time")
    ordered = sorted(latencies_ns)

    assert row["answers"] == counted["answers"] == len(ordered)
    for name, part in PERCENTILES:
        expected = percentile(ordered, part) / 1000
        assert row[name] == expected
        assert counted[name] == pytest.approx(expected, rel=1 / 128), "the middle of its bucket"
    assert (row["least_us"], row["most_us"]) == (ordered[0] / 1000, ordered[-1] / 1000)


@pytest.mark.thorough
def test_minutes_of_latency_add_up_to_any_time() -> None:
    """Percentiles of an hour are not those of its minutes: all of its answers count."""
    latencies_ns = [1_000_000 * (number + 1) for number in range(120)]
    tables = tables_of_items(*answered_after(latencies_ns, 60 * 10**9))

    for minutes, rows in ((1, 120), (60, 3), (0, 1)):
        found = report_rows(tables, "latency_over_time", minutes=str(minutes))
        assert abs(len(found) - rows) <= (minutes == 60), "an hour may begin amid them"
        at = 0
        for row in found:
            own = latencies_ns[at : at + row["answers"]]
            at += row["answers"]
            for name, part in PERCENTILES:
                assert row[name] * 1000 == pytest.approx(percentile(own, part), rel=1 / 128)
        assert at == len(latencies_ns)


@pytest.mark.thorough
def test_nothing_is_answered_about_nothing() -> None:
    """Tables without rows are tables too."""
    records = {"records": arrow_schema(TABLES["records"]).empty_table()}
    with open_tables(tables_of_items() | records) as database:
        answers = {name: ask_report(database, name, 1).rows for name in report_names()}

    assert answers == {name: [] for name in report_names()}


@pytest.mark.thorough
def test_an_exchange_with_a_wrong_end_is_an_error_by_its_status() -> None:
    """Of several errors in a response the first counts."""
    wrong = make_exchange(HeartbeatRequest(), HeartbeatResponse(error_code=27), version=4)
    cut = make_exchange(HeartbeatRequest(), HeartbeatResponse(), version=4)
    assert cut.response is not None
    cut.response.data = cut.response.data[:-1]
    fine = make_exchange(HeartbeatRequest(), HeartbeatResponse(), version=4)
    rows = report_rows(tables_of_items(wrong, wrong, cut, fine), "errors")

    assert [(row["problem"], row["exchanges"]) for row in rows] == [
        ("REBALANCE_IN_PROGRESS", 2),
        ("partial", 1),
    ]
