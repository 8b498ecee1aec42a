import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folders import CAPTURES
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.model import Gap
from kdiag.pcap.decoder import decode_capture
from kdiag.report.arrow import RowBatches, TableBatches, arrow_schema
from kdiag.report.tables.catalog import TABLES, TableChoice
from kdiag.report.tables.column import Table
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from recordings.capture_tables import tables_of
from recordings.exchange_maker import (
    capture_of,
    make_batch,
    make_connection,
    make_exchange,
    request_bytes,
)
from spark_runs.pipeline_parts import comparable
from tiers.cases import for_each

CAPTURE = CAPTURES / "produce_consume_group.pcap"
EVERYTHING = TableChoice(records=True)


def collect(
    *, max_rows: int = 16_384, max_bytes: int = 1 << 25, choice: TableChoice = EVERYTHING
) -> list[tuple[str, pa.RecordBatch]]:
    """Return the record batches of a capture as they are emitted."""
    found: list[tuple[str, pa.RecordBatch]] = []
    tables = TableBatches(
        lambda name, batch: found.append((name, batch)),
        TopicNames(),
        choice,
        max_rows=max_rows,
        max_bytes=max_bytes,
    )
    for item in decode_capture([CAPTURE]):
        tables.add(item)
    tables.flush()
    tables.flush()
    return found


def rows_by_table(batches: list[tuple[str, pa.RecordBatch]]) -> dict[str, list[object]]:
    """Return the rows of each table."""
    rows: dict[str, list[object]] = {}
    for name, batch in batches:
        rows.setdefault(name, []).extend(batch.to_pylist())
    return rows


@for_each("table", TABLES.values(), ids=TABLES)
def test_a_schema_is_that_of_the_documented_columns(table: Table) -> None:
    """In their order, each with its meaning."""
    schema = arrow_schema(table)

    assert schema.names == [column.name for column in table.columns]
    for column in table.columns:
        assert schema.field(column.name).metadata[b"comment"].decode() == column.meaning


def test_batches_fill_up_to_the_limit_of_rows() -> None:
    """What the limit is does not change the rows."""
    whole, cut = collect(), collect(max_rows=7)

    made = {"exchanges", "batches", "records", "connections", "latency_minutes"}
    assert {name for name, _ in whole} == made
    assert max(batch.num_rows for _, batch in cut) == 7
    assert sum(name == "exchanges" for name, _ in cut) == 5
    rows, others = rows_by_table(whole), rows_by_table(cut)
    assert rows.pop("latency_minutes")
    assert others.pop("latency_minutes")
    assert rows == others
    counted, more = (
        comparable([batch for name, batch in batches if name == "latency_minutes"])
        for batches in (whole, cut)
    )
    assert counted == more


def test_large_rows_fill_a_batch_sooner() -> None:
    """Bodies and the texts of records count."""
    counts: dict[str, list[int]] = {}
    for name, batch in collect(max_bytes=1_000):
        counts.setdefault(name, []).append(batch.num_rows)

    assert max(counts["exchanges"]) < 10
    assert max(counts["records"]) < 60
    assert counts["batches"] == [6]


def test_what_is_not_chosen_is_not_there() -> None:
    """Records are what users wrote: nobody gets them unasked."""
    batches = collect(choice=TableChoice(bodies=False))
    exchanges = next(batch for name, batch in batches if name == "exchanges")

    assert "records" not in {name for name, _ in batches}
    assert exchanges.column("request_body").null_count == exchanges.num_rows
    assert [table.name for table in TableChoice().tables] == [
        "exchanges",
        "batches",
        "connections",
        "gaps",
        "not_understood",
        "latency_minutes",
        "rebalances",
        "members",
        "captures",
    ]


def test_fetch_sessions_are_followed_and_names_learnt() -> None:
    """An incremental fetch says what its session reads."""
    rows = tables_of([CAPTURES / "transaction.pcap"])["exchanges"].to_pylist()
    sessions = [row for row in rows if row["session_topics"]]

    assert sessions
    assert {row["api"] for row in sessions} == {"Fetch"}
    assert {name for row in sessions for name in row["topics"]} == {"orders", "payments"}


def test_text_that_is_no_unicode_is_replaced() -> None:
    """As in the JSON documents; nothing that a client writes stops the table."""
    data = request_bytes(HeartbeatRequest(group_id="gXp", member_id="m"), 3)
    exchange = make_exchange(data.replace(b"gXp", b"g\xffp"), version=3, api_key=12)
    found: list[pa.RecordBatch] = []
    tables = TableBatches(lambda _, batch: found.append(batch), TopicNames())
    tables.add(exchange)
    tables.flush()

    (row,) = found[0].to_pylist()
    assert row["groups"] == ["g\ufffdp"]
    assert "g\ufffdp" in row["request_body"]


def test_a_gap_is_taken() -> None:
    """It goes to its own table."""
    found: list[tuple[str, int]] = []
    tables = TableBatches(lambda name, batch: found.append((name, len(batch))), TopicNames())
    tables.add(
        Gap(
            connection=make_connection(),
            direction="request",
            time_ns=1,
            offset=0,
            size=5,
            reason="lost",
        )
    )
    tables.flush()

    assert found == [("gaps", 1)]


PARTITION = PartitionProduceData(index=0, records=make_batch(b"one", b"two", compression="gzip"))
REQUEST = request_bytes(
    ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=[PARTITION])]), 9
)


@pytest.mark.thorough
@settings(max_examples=200)
@given(st.data())
def test_no_bytes_keep_an_exchange_from_being_a_row(data: st.DataObject) -> None:
    """Whatever stands in a frame, there is a row for it and no error."""
    frame = bytearray(REQUEST)
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(8, len(frame) - 1))] = data.draw(st.integers(0, 255))
    rows: list[str] = []
    tables = TableBatches(
        lambda name, batch: rows.extend([name] * len(batch)), TopicNames(), EVERYTHING
    )
    tables.add(make_exchange(bytes(frame), version=9, api_key=0))
    tables.flush()

    assert rows.count("exchanges") == 1


def test_a_capture_of_one_request_has_one_row() -> None:
    """From the first packet to the table."""
    found: list[tuple[str, int]] = []
    tables = TableBatches(lambda name, batch: found.append((name, len(batch))), TopicNames())
    for item in decode_capture([io.BytesIO(capture_of([(False, REQUEST)]))]):
        tables.add(item)
    tables.flush()

    assert found == [("exchanges", 1), ("batches", 1), ("connections", 1)]


SCHEMA = pa.schema([("text", pa.string()), ("texts", pa.list_(pa.string()))])


def test_a_batch_is_emitted_when_it_is_full_by_rows_or_by_bytes() -> None:
    """And what is left when that is asked for."""
    emitted: list[tuple[str, int]] = []
    rows = RowBatches(
        "t", SCHEMA, lambda name, batch: emitted.append((name, batch.num_rows)), 3, 100
    )
    for _ in range(4):
        rows.add(("a", []), 1)
    rows.add(("b", []), 99)
    rows.add(("c", []), 0)
    assert emitted == [("t", 3), ("t", 2)]
    rows.flush()
    rows.flush()
    assert emitted == [("t", 3), ("t", 2), ("t", 1)]


def test_text_that_is_not_unicode_has_replacement_characters() -> None:
    """Arrow holds UTF-8 alone; a client id may be anything."""
    batches: list[pa.RecordBatch] = []
    rows = RowBatches("t", SCHEMA, lambda _, batch: batches.append(batch), 1, 100)
    rows.add(("a\udcff", ["b\udcfe", "c"]), 0)
    assert batches[0].to_pylist() == [{"text": "a\ufffd", "texts": ["b\ufffd", "c"]}]
