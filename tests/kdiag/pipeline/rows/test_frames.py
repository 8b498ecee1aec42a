from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from folders import CAPTURES
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import decode_capture
from kdiag.pipeline.rows.frames import FRAMES, frame_row, read_exchanges, row_bytes, span_bytes
from kdiag.pipeline.rows.packets import MappedFiles


@pytest.mark.thorough
def test_exchanges_come_back_as_they_were() -> None:
    """With their frames to the last byte; of the connection, what rows tell of it."""
    for file in sorted(CAPTURES.glob("*.pcap")):
        exchanges = [each for each in decode_capture([file]) if isinstance(each, Exchange)]
        columns = zip(*map(frame_row, exchanges), strict=True)
        arrays = [
            pa.array(column, field.type) for column, field in zip(columns, FRAMES, strict=True)
        ]
        back = list(read_exchanges(pa.RecordBatch.from_arrays(arrays, schema=FRAMES)))

        for before, after in zip(exchanges, back, strict=True):
            assert after.connection.connection_id == before.connection.connection_id
            assert after.connection.client == before.connection.client
            after.connection = before.connection
            assert after == before


def test_a_frame_that_lies_elsewhere_is_read_there(tmp_path: Path) -> None:
    """The row has its spans instead, and counts for what lies there."""
    file = tmp_path / "frames"
    exchange = next(
        each for each in decode_capture([CAPTURES / "acks.pcap"]) if isinstance(each, Exchange)
    )
    assert exchange.request is not None
    file.write_bytes(b"head" + exchange.request.data)
    size = len(exchange.request.data)
    spans = np.array([[0, 4, 10], [0, 14, size - 10]], np.int64).tobytes()
    columns = zip(frame_row(exchange, (spans, None)), strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, FRAMES, strict=True)]
    rows = pa.RecordBatch.from_arrays(arrays, schema=FRAMES)
    (back,) = read_exchanges(rows, MappedFiles([str(file)]))

    assert rows.column("request_data").to_pylist() == [None]
    assert back.request == exchange.request
    assert back.response == exchange.response
    assert span_bytes(rows) == size
    assert span_bytes(rows.select(["number"])) == 0


def test_a_row_is_as_large_as_its_frames() -> None:
    """So that many large ones do not come together."""
    file = CAPTURES / "acks.pcap"
    exchange = next(each for each in decode_capture([file]) if isinstance(each, Exchange))
    frames = [frame for frame in (exchange.request, exchange.response) if frame]

    assert row_bytes(exchange) == sum(len(frame.data) for frame in frames)
