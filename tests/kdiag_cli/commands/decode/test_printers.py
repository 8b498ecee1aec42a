import csv
import io
import json
import resource
import signal
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.documents.document import SCALARS, Documents
from kdiag.exchange.model import Connection, Gap
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag_cli.captures.printer import Printer
from kdiag_cli.commands.decode.printers import (
    CsvRows,
    JsonDocument,
    JsonLines,
    SingleExchange,
    absence_text,
)
from kdiag_cli.ending import OutputError
from kdiag_cli.output.terminal import Output
from recordings.exchange_maker import START_NS, make_connection, make_exchange, whole_frame


def printed(make: Callable[[Output, Documents], Printer]) -> str:
    """Return what a printer makes of two exchanges, a gap and a connection."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    output = Output(stream)
    printer = make(output, Documents(TopicNames(), BodyForm()))
    connection = make_connection()
    gap = Gap(
        connection=connection,
        direction="request",
        time_ns=START_NS,
        offset=0,
        size=9,
        reason="lost",
    )
    failed = HeartbeatResponse(error_code=27)
    for number in (1, 2):
        exchange = make_exchange(
            HeartbeatRequest(group_id="billing"),
            failed,
            version=3,
            number=number,
            client_id='a,"b\x07',
        )
        printer.exchange(Dissection(exchange))
    printer.gap(gap)
    printer.connection(connection)
    printer.finish()
    output.flush()
    data: Any = stream.buffer
    text: str = data.getvalue().decode()
    return text


def test_each_thing_is_a_line_of_json() -> None:
    """In the order in which they come."""
    lines = [json.loads(line) for line in printed(JsonLines).splitlines()]
    assert [line["kind"] for line in lines] == ["exchange", "exchange", "gap", "connection"]
    assert all(line["schema"] == 1 for line in lines)


def test_all_things_are_one_document() -> None:
    """Grouped by kind."""
    account = {"passed_over": 7}
    make = partial(JsonDocument, account=lambda: account)
    document = json.loads(printed(make))
    assert [each["number"] for each in document["exchanges"]] == [1, 2]
    assert [len(document["connections"]), len(document["gaps"])] == [1, 1]
    assert document["capture"] == account


def _add_often(document: JsonDocument, connection: Connection) -> None:
    for _ in range(2000):
        document.connection(connection)


@pytest.mark.thorough
def test_connections_of_a_document_wait_in_a_file_and_not_in_memory() -> None:
    """There may be any number of them; a full disk is one clear error."""
    output = Output(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    documents = Documents(TopicNames(), BodyForm())
    document = JsonDocument(output, documents, dict)
    connection = make_connection()
    document.connection(connection)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2000):
        document.connection(connection)
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert kept < 2 << 20

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(OutputError, match="set TMPDIR"):
            _add_often(document, connection)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_rows_of_csv_have_the_scalar_keys_as_columns() -> None:
    """Exchanges only, with names and sizes; a row is a line, whatever the wire said."""
    header, *rows = csv.reader(io.StringIO(printed(CsvRows)))
    assert tuple(header) == (*SCALARS, "topics", "groups", "request_bytes", "response_bytes")
    first = dict(zip(header, rows[0], strict=True))
    assert len(rows) == 2
    assert (first["api"], first["client_id"]) == ("Heartbeat", r'a,"b\x07')
    assert (first["error"], first["latency_us"]) == ("REBALANCE_IN_PROGRESS", "2500")
    assert (first["topics"], first["groups"]) == ("", "billing")
    frames = json.loads(printed(JsonLines).splitlines()[0])
    for side in ("request", "response"):
        assert int(first[f"{side}_bytes"]) == frames[side]["frame"]["bytes"]


def dissection(number: int, time_ns: int) -> Dissection:
    """Return an exchange of a certain time."""
    exchange = make_exchange(b"asked", version=None, number=number)
    exchange.request = whole_frame(b"asked", time_ns)
    return Dissection(exchange)


def test_only_the_exchange_with_the_number_is_kept() -> None:
    """Everything else passes."""
    dissections = [
        Dissection(make_exchange(b"asked", version=None, number=number)) for number in (1, 2, 3)
    ]
    connection = make_connection()
    single = SingleExchange(2)

    for each in dissections:
        single.exchange(each)
    single.connection(connection)
    single.gap(
        Gap(
            connection=connection,
            direction="request",
            time_ns=START_NS,
            offset=0,
            size=2,
            reason="lost",
        )
    )
    single.finish()

    assert single.found is dissections[1]


def test_an_exchange_that_does_not_come_is_none() -> None:
    """The number stays, so that it can be told."""
    single = SingleExchange(9)

    single.finish()

    assert (single.number, single.found) == (9, None)


def test_an_absent_exchange_was_left_out_or_never_there() -> None:
    """The numbers of all exchanges tell which."""
    assert absence_text(5, 5) == "exchange 5 is not one of those that the options choose"
    assert absence_text(6, 5) == "there is no exchange 6: the capture has 5 exchanges"
