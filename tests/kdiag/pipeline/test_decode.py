from pathlib import Path

import pyarrow as pa
import pytest

from folders import CAPTURES
from kdiag.exchange.model import Exchange, Status
from kdiag.pipeline.decode import UNSURE, FlowRules, RunPart, decode_rows, resolve_unsure
from kdiag.pipeline.input.segment_reader import SegmentReader, SplitRun
from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.input.split import walk
from kdiag.pipeline.rows.frames import frame_row, read_exchanges
from kdiag.pipeline.rows.packets import PacketRows
from kdiag.wire import api_keys
from recordings.hard_captures import base, write

Emitted = dict[str, list[pa.RecordBatch]]


def decode(file: Path, part: RunPart, rules: FlowRules = FlowRules()) -> Emitted:  # noqa: B008
    """Return what a part that has all packets of a capture emits."""
    splits = walk(str(file)).splits
    reader = SegmentReader(SplitRun(splits, 0))
    rows = PacketRows(reader.index.addresses)
    batches = [rows.batch(each) for each in reader.read()]
    found: Emitted = {}

    def emit(name: str, batch: pa.RecordBatch) -> None:
        found.setdefault(name, []).append(batch)

    decode_rows(batches, emit, part, SegmentTimestamps(splits), rules)
    return found


def column(emitted: Emitted, name: str, of: str) -> list[object]:
    """Return a column of what was emitted by a name."""
    return [value for batch in emitted[name] for value in batch.column(of).to_pylist()]


def test_numbers_are_those_of_the_part_alone() -> None:
    """No two parts give the same."""
    first, second = (decode(CAPTURES / "acks.pcap", RunPart(number, 2)) for number in (0, 1))

    for of in ("number", "connection"):
        even, odd = set(column(first, "frames", of)), set(column(second, "frames", of))
        assert even
        assert not even & odd
    assert set(column(first, "connections", "connection")) >= set(
        column(first, "frames", "connection")
    )


def test_fetches_come_once_more_without_what_they_read() -> None:
    """Sessions need the request and the head of the response."""
    found = decode(CAPTURES / "produce_consume_group.pcap", RunPart(0, 1))
    fetches = column(found, "fetches", "number")

    assert set(fetches) <= set(column(found, "frames", "number"))
    heads = [
        len(data) for data in column(found, "fetches", "response_data") if isinstance(data, bytes)
    ]
    assert max(heads) <= 64
    assert column(found, "names", "name")


def test_a_port_that_is_named_is_read_as_kafka(tmp_path: Path) -> None:
    """Whatever its bytes look like; the rules are the same in all parts."""
    file = write(base(), tmp_path / "a.pcap")
    found = decode(file, RunPart(0, 1), FlowRules(ports=(9092,)))

    assert column(found, "connections", "protocol") == ["kafka"]


def lone(connection_host: str) -> Exchange:
    """Return a response of which only others can tell what it is: several APIs have it."""
    found = decode(CAPTURES / "transaction.pcap", RunPart(0, 1))
    exchanges = [each for batch in found["frames"] for each in read_exchanges(batch)]
    exchange = next(each for each in exchanges if each.api_key == api_keys.INIT_PRODUCER_ID)
    exchange.connection.connection_id = connection_host
    exchange.connection.client = f"{connection_host}:40000"
    exchange.request = None
    exchange.pairing = Status.UNMATCHED
    return exchange


@pytest.mark.thorough
def test_what_others_ask_tells_what_a_response_is() -> None:
    """If they ask between the same hosts, and before one process would have given up waiting."""
    near, far = lone("10.0.0.1"), lone("10.0.0.2")
    kinds = pa.table(
        {
            "client_host": ["10.0.0.1"],
            "broker": [near.connection.broker],
            "api_key": [near.api_key],
            "version": [near.version],
            "order": [10],
        }
    )
    for exchange in (near, far):
        exchange.api_key = exchange.version = None
    rows = [(*frame_row(each), order) for each, order in ((near, 10), (near, 9), (far, 10))]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(each, field.type) for each, field in zip(columns, UNSURE, strict=True)]
    unsure = pa.RecordBatch.from_arrays(arrays, schema=UNSURE)
    found: Emitted = {}
    resolve_unsure(
        [unsure], kinds.to_batches(), lambda name, batch: found.setdefault(name, []).append(batch)
    )

    assert column(found, "frames", "api_key") == [api_keys.INIT_PRODUCER_ID, None, None]
    assert column(found, "frames", "guessed") == [True, False, False]
