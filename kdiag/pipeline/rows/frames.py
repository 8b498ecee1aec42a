"""Exchanges as rows: the frames as they crossed the wire, not yet decoded.

They travel from the decoding of a connection, which needs its order, to the reading of its frames,
which any task can do. For a frame that lies in the captures unchanged, a row may have `spans`
instead of `data`: see `frame_spans`.
"""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute

from kdiag.exchange.model import Connection, Exchange, LoginPhase, Status, UnansweredReason
from kdiag.pipeline.rows.frame_spans import read_spans
from kdiag.pipeline.rows.packets import NO_FILES, MappedFiles
from kdiag.wire.frame import Frame

_FRAME: Final = [
    ("data", pa.binary()),
    ("spans", pa.binary()),
    ("size", pa.int64()),
    ("first_byte_ns", pa.int64()),
    ("last_byte_ns", pa.int64()),
    ("first_packet", pa.int64()),
    ("last_packet", pa.int64()),
    ("segments", pa.int32()),
    ("starts_in_segment_with", pa.int32()),
    ("gap_bytes", pa.int64()),
    ("unsent_bytes", pa.int64()),
]

FRAMES: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("connection", pa.int64()),
        ("connection_id", pa.string()),
        ("client", pa.string()),
        ("broker", pa.string()),
        ("api_key", pa.int32()),
        ("version", pa.int32()),
        ("correlation_id", pa.int32()),
        ("client_id", pa.string()),
        ("pairing", pa.string()),
        ("guessed", pa.bool_()),
        ("guessed_low", pa.int32()),
        ("guessed_high", pa.int32()),
        ("guessed_error", pa.int32()),
        ("unanswered_reason", pa.string()),
        ("is_violation", pa.bool_()),
        ("login", pa.string()),
        *((f"request_{name}", type_) for name, type_ in _FRAME),
        *((f"response_{name}", type_) for name, type_ in _FRAME),
    ]
)
"""The columns; `number` and `connection` count within the run."""

_HEAD_COLUMNS: Final = len(FRAMES.names) - 2 * len(_FRAME)
_NO_FRAME: Final = (None,) * len(_FRAME)


_NOWHERE: Final = (None, None)


def frame_row(
    exchange: Exchange, spans: tuple[bytes | None, bytes | None] = _NOWHERE
) -> tuple[Any, ...]:
    """Return an exchange as a row of `FRAMES`.

    Args:
        exchange: what to make a row of.
        spans: of its request and its response, as `FrameSpans` finds them.
    """
    connection = exchange.connection
    return (
        exchange.number,
        connection.number,
        connection.connection_id,
        connection.client,
        connection.broker,
        exchange.api_key,
        exchange.version,
        exchange.correlation_id,
        exchange.client_id,
        exchange.pairing.value,
        exchange.guessed,
        *(exchange.guessed_versions or (None, None)),
        exchange.guessed_error,
        exchange.unanswered_reason,
        exchange.is_violation,
        exchange.login.value,
        *_frame_columns(exchange.request, spans[0]),
        *_frame_columns(exchange.response, spans[1]),
    )


def row_bytes(exchange: Exchange) -> int:
    """Return about how many bytes the row of an exchange has."""
    frames = (exchange.request, exchange.response)
    return sum(len(frame.data) for frame in frames if frame is not None)


def span_bytes(rows: pa.RecordBatch) -> int:
    """Return how many bytes of frames are in spans; 0 for rows of another schema."""
    total = 0
    for side in ("request", "response"):
        if f"{side}_spans" in rows.schema.names:
            is_elsewhere = compute.is_valid(rows.column(f"{side}_spans"))
            size = compute.sum(rows.column(f"{side}_size").filter(is_elsewhere)).as_py()
            total += size or 0
    return total


def read_exchanges(rows: pa.RecordBatch, files: MappedFiles = NO_FILES) -> Iterator[Exchange]:
    """Yield the exchanges of rows of `FRAMES`.

    Args:
        rows: to read.
        files: the captures, if frames lie in them.

    Raises:
        CaptureError: if a file cannot be opened.
    """
    connections: dict[str, Connection] = {}
    columns = [column.to_pylist() for column in rows.select(FRAMES.names).columns]
    for row in zip(*columns, strict=True):
        number, connection, connection_id, client, broker, *head = row[:_HEAD_COLUMNS]
        api_key, version, correlation_id, client_id, pairing, guessed, *rest = head
        low, high, error, reason, violates, login = rest
        if connection_id not in connections:
            connections[connection_id] = Connection(
                number=connection,
                connection_id=connection_id,
                client=client,
                broker=broker,
                first_ns=0,
                last_ns=0,
            )
        yield Exchange(
            number=number,
            connection=connections[connection_id],
            api_key=api_key,
            version=version,
            correlation_id=correlation_id,
            client_id=client_id,
            request=_frame(row[_HEAD_COLUMNS : -len(_FRAME)], files),
            response=_frame(row[-len(_FRAME) :], files),
            pairing=Status(pairing),
            guessed=guessed,
            guessed_versions=None if low is None else (low, high),
            guessed_error=error,
            unanswered_reason=reason and UnansweredReason(reason),
            is_violation=violates,
            login=LoginPhase(login),
        )


def _frame_columns(frame: Frame | None, spans: bytes | None) -> tuple[Any, ...]:
    if frame is None:
        return _NO_FRAME
    return (
        frame.data if spans is None else None,
        spans,
        frame.size,
        frame.first_byte_ns,
        frame.last_byte_ns,
        frame.first_packet,
        frame.last_packet,
        frame.segments,
        frame.starts_in_segment_with,
        frame.gap_bytes,
        frame.unsent_bytes,
    )


def _frame(columns: tuple[Any, ...], files: MappedFiles) -> Frame | None:
    data, spans, *facts = columns
    if spans is not None:
        data = read_spans(spans, files)
    return None if data is None else Frame(data, *facts)
