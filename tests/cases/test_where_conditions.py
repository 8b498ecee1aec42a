"""Conditions of `--where` on a capture, against DuckDB's WHERE on the tables of it."""

import pytest

from folders import CAPTURES
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import decode_capture
from kdiag.report.sql_report import Query
from kdiag.report.where import Where
from recordings.capture_tables import rows_of_query, tables_of

CAPTURE = CAPTURES / "produce_consume_group.pcap"
CONDITIONS = (
    "latency_us > 50000 AND api = 'Fetch'",
    "latency_us + transfer_us BETWEEN 1000 AND 6e3 OR error IS NOT NULL",
    "NOT (latency_us > 5000)",
    "NOT (latency_us > 5000 OR status = 'unanswered')",
    "api NOT IN ('Fetch', 'Produce') AND client_id ILIKE 'ORDER-R%'",
    "client_id LIKE 'order_reader' AND version * 2 - 3 > request_bytes / 10",
    "throttle_ms = 0 AND NOT guessed AND acks IS NULL",
    "time >= '2026-11-21T13:45:40.807828' AND end_time < '2026-11-21 13:45:41'",
    "response_why IS NULL AND response_bytes <> 16",
    "client_host LIKE '%.1' AND connection IN (2, 3) AND records > 0",
    "replica_id = -1 OR -partitions < -2",
)


@pytest.fixture(scope="module")
def by_duckdb() -> dict[str, list[int]]:
    """Return the numbers of the exchanges that DuckDB finds for each condition."""
    tables = tables_of([CAPTURE])
    statement = "SELECT number FROM exchanges WHERE {} ORDER BY number"
    return {
        each: [row["number"] for row in rows_of_query(tables, Query(statement.format(each), {}))]
        for each in CONDITIONS
    }


@pytest.mark.thorough
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_finds_what_the_same_sql_finds(
    condition: str, by_duckdb: dict[str, list[int]]
) -> None:
    """Both read the same columns, and NULL means the same to both."""
    where, names = Where(condition), TopicNames()
    exchanges = [each for each in decode_capture([CAPTURE]) if isinstance(each, Exchange)]
    found = sorted(each.number for each in exchanges if where(Dissection(each), names))

    assert found == by_duckdb[condition]
    assert 0 < len(found) < len(exchanges)
