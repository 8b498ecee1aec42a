from pathlib import Path

import pyarrow as pa
import pytest

from folders import CAPTURES
from kdiag.clock import ALWAYS, TimeRange
from kdiag.report.engine import open_folder, open_tables
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kdiag_cli.captures.tables import tables_of
from kdiag_cli.commands.report.page.judged import judge_captures, judge_folder
from kdiag_cli.options.captures import CaptureInputs, TableContents
from made_values.limited_connection import direction, facts_of
from recordings.capture_tables import tables_of_items
from recordings.capture_writer import savefile
from recordings.exchange_maker import make_connection, make_exchange
from recordings.tcp_story import Story

pytestmark = pytest.mark.thorough


def slow_story() -> Story:
    """Return a connection whose window is always full, on a path of 20 ms."""
    story = Story().open(client_ms=0.01, broker_ms=20)
    for number in range(100):
        story.client(100 + number * 20, size=1000)
        story.broker(100 + (number + 1) * 20 - 0.001)
    return story


def test_tables_are_judged_as_the_captures_that_they_were_made_of(tmp_path: Path) -> None:
    """The same findings, and the same limits of connections."""
    file = tmp_path / "story.pcap"
    file.write_bytes(savefile(slow_story().packets))
    inputs = CaptureInputs(
        [str(CAPTURES / "rebalance.pcap"), str(CAPTURES / "acks.pcap"), str(file)]
    )
    folder = tmp_path / "tables"
    result = tables_of(inputs, folder, TableContents(tcp=True), judges_traffic=True)
    with open_folder(folder) as database:
        expected = judge_captures(database, result.findings)
        told = judge_folder(database, ALWAYS)

    assert told.findings == expected.findings
    assert told.limits == expected.limits
    assert len(told.limits) == 1
    (note,) = told.notes
    assert "KD4103" in note
    ids = [each.id for each in told.findings]
    assert "KD4104" in ids
    assert not [each for each in ids if each.startswith("KD33")], "it asked before there was one"


def test_what_tables_lack_is_named() -> None:
    """With the findings that are missing for that, and how to make tables that tell them."""
    partition = OffsetCommitResponsePartition(partition_index=0, error_code=22)
    topic = OffsetCommitResponseTopic(name="orders", partitions=[partition])
    commit = (OffsetCommitRequest(group_id="billing"), OffsetCommitResponse(topics=[topic]))
    followed = make_connection(1, connection_id="tcp-1", tcp=facts_of(direction()))
    others = [make_connection(number, connection_id=f"tcp-{number}") for number in (2, 3)]
    tables = tables_of_items(make_exchange(*commit, version=8), followed, *others)
    schema = tables["members"].schema
    later = dict.fromkeys(schema.names) | {"group_id": "billing", "type": "newest"}
    with open_tables(tables | {"members": pa.Table.from_pylist([later], schema)}) as database:
        partly = judge_folder(database, TimeRange(to_ns=1))
    del tables["tcp"], tables["batches"]
    with open_tables(tables) as database:
        judged = judge_folder(database, ALWAYS)

    (traffic, groups, tcp) = judged.notes
    assert judged.parts == [
        "failed connections and missing answers (KD1101 to KD1410)",
        "rebalances (KD3301 to KD3315)",
    ]
    assert traffic.startswith(
        "Not judged: clients and brokers (KD4101 to KD5101): there is no table"
    )
    assert groups == (
        "Not judged: KD3304, KD3305, KD3307, KD3309, KD3310, KD3312: they take the bodies of "
        "1 refused request: make the tables without --no-bodies"
    )
    assert tcp.startswith("Not judged: what TCP did (KD6001 to KD6009): make the tables with --tcp")
    (_, groups, of_two, times) = partly.notes
    assert groups.startswith("Not judged: rebalances (KD3301 to KD3315): another release has")
    assert "what TCP did (KD6001 to KD6009), of 2 of 3 connections: " in of_two
    assert "continue after --to" in times
