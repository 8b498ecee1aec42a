"""The tables of every capture say what its JSON documents say, fact by fact."""

import json
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from folders import CAPTURES
from kdiag.report.tables.catalog import TABLES
from kdiag.report.tables.exchanges import EXCHANGE_KEY
from programs.kdiag_program import kdiag
from recordings.table_facts import (
    batch_facts,
    connection_facts,
    exchange_facts,
    exchange_facts_of_row,
    gap_facts,
    in_us,
    read_rows,
    record_facts,
    record_facts_of_row,
    tcp_facts,
    time_ns,
    without_records,
)
from tiers.sampling import sample

REFERENCE = Path(os.environ.get("KDIAG_REFERENCE", "")) / "captures"
Documents = list[dict[str, Any]]
Write = Callable[..., tuple[Path, int]]


def capture_sets() -> list[Any]:
    """Return the files of captures that are drawn, rotated sets together."""
    files = sorted(CAPTURES.glob("*.pcap"))
    if "KDIAG_REFERENCE" in os.environ:
        files += sorted(REFERENCE.glob("*.pcap")) + sorted(REFERENCE.glob("*.pcapng"))
    sets = [pytest.param([file], id=f"{file.parent.parent.name}-{file.name}") for file in files]
    rotated = sorted(REFERENCE.glob("rotated_tcpdump_c1.pcap?"))
    return [
        *sample("tables", sets, 9),
        *([pytest.param(rotated, id="rotated")] if rotated else []),
    ]


@pytest.fixture(scope="module")
def write_tables(tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Return a function from a capture to its tables and the exit code; it decodes each once."""

    @cache
    def write(*files: Path) -> tuple[Path, int]:
        folder = tmp_path_factory.mktemp("tables")
        written = kdiag("decode", *with_keylog(files), "--output", "parquet", "--out", folder)
        assert written.out == ""
        return folder, written.code

    return write


def with_keylog(files: Sequence[Path]) -> list[object]:
    """Return the arguments that decode a capture, with the key log beside it if there is one."""
    keys = files[0].with_suffix(".keylog")
    return [*files, *(["--keylog", keys] if keys.exists() else []), "--values", "--tcp"]


def of_kind(documents: Documents, kind: str) -> Documents:
    """Return the documents of a kind."""
    return [document for document in documents if document["kind"] == kind]


def check_exchanges(documents: Documents, folder: Path) -> None:
    """Compare `exchanges` with the documents of exchanges."""
    rows = {row["number"]: row for row in read_rows(folder, "exchanges")}
    assert set(rows) == {document["number"] for document in documents}
    for document in documents:
        row = rows[document["number"]]
        expected = without_records(exchange_facts(document))
        assert exchange_facts_of_row(row, set(expected)) == expected
        assert int(row["time"].timestamp() * 10**6) == row["time_ns"] // 1000
        for topic_id, name in document["topic_names"].items():
            assert topic_id in row["topic_ids"]
            assert name in row["topics"]


def check_batches(documents: Documents, folder: Path) -> None:
    """Compare `batches` and `records` with the batches inside the documents of exchanges."""
    records: dict[Any, Documents] = {}
    for row in read_rows(folder, "records"):
        records.setdefault(batch_key(row), []).append(row)
    rows = {batch_key(row): row for row in read_rows(folder, "batches")}
    expected = [each for document in documents for each in batch_facts(document)]
    assert len(rows) == len(expected)
    for facts, inside in expected:
        row = rows[batch_key(facts)]
        assert {name: row[name] for name in facts} == facts
        found = records.get(batch_key(facts), [])
        assert [each["record_index"] for each in found] == list(range(len(inside)))
        for record, told_record in zip(found, inside, strict=True):
            expected_record = record_facts(told_record)
            assert record_facts_of_row(record, expected_record) == expected_record


def batch_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what tells a batch apart."""
    return tuple(row[name] for name in TABLES["batches"].key)


@pytest.mark.thorough
@pytest.mark.parametrize("files", capture_sets())
def test_the_tables_say_what_the_documents_say(files: list[Path], write_tables: Write) -> None:
    """Every exchange, batch, record, connection and gap is a row, with the values of its JSON.

    Documents cut values above 1 MB, and the exit code says so; tables have them whole.
    """
    folder, code = write_tables(*files)
    printed = kdiag("decode", *with_keylog(files), "--output", "jsonl")
    documents = [json.loads(line) for line in printed.out.splitlines()]
    assert code == printed.code or "too long to show" in printed.err

    check_exchanges(of_kind(documents, "exchange"), folder)
    check_batches(of_kind(documents, "exchange"), folder)
    connections = [connection_facts(each) for each in of_kind(documents, "connection")]
    assert [
        {name: row[name] for name in facts}
        for row, facts in zip(read_rows(folder, "connections"), connections, strict=True)
    ] == connections
    tcp = [facts for each in of_kind(documents, "connection") for facts in tcp_facts(each)]
    assert [
        {name: row[name] for name in facts}
        for row, facts in zip(map(in_us, read_rows(folder, "tcp")), tcp, strict=True)
    ] == tcp
    gaps = [gap_facts(each) for each in of_kind(documents, "gap")]
    assert [
        {name: row[name] for name in facts}
        for row, facts in zip(read_rows(folder, "gaps"), gaps, strict=True)
    ] == gaps


@pytest.mark.thorough
@pytest.mark.parametrize("files", capture_sets())
def test_the_key_of_a_table_tells_its_rows_apart(files: list[Path], write_tables: Write) -> None:
    """So that tables can be joined, and rows of two runs be compared."""
    folder, _ = write_tables(*files)

    for table in TABLES.values():
        keys = [tuple(row[name] for name in table.key) for row in read_rows(folder, table.name)]
        if table.name == "exchanges":  # SASL tokens have no correlation id
            keys = [key for key in keys if key[EXCHANGE_KEY.index("correlation_id")] is not None]
        assert len(set(keys)) == len(keys), table.name


def test_times_are_read_back_to_the_nanosecond() -> None:
    """The comparison would not see a rounded time otherwise."""
    assert time_ns("2026-01-02T03:04:05.000000006Z") == 1_767_323_045_000_000_006
