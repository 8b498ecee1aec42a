from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pipeline.input.segment_reader import SegmentReader, SplitRun
from kdiag.pipeline.input.split import walk
from kdiag.pipeline.rows.frame_spans import LEAST_BYTES, FrameSpans, read_spans
from kdiag.pipeline.rows.packets import MappedFiles
from kdiag.wire.frame import Frame
from recordings.hard_captures import CASES, write
from tiers.cases import for_each
from tiers.sampling import sample


def mapped(file: Path, files: MappedFiles) -> tuple[SegmentReader, list[SegmentBatch]]:
    """Return the segments of a capture, whose payloads are where the file is mapped."""
    reader = SegmentReader(SplitRun(walk(str(file)).splits, 0))
    batches = [
        batch._replace(
            data=files.view(0), payload_offset=batch.payload_offset + reader.position.start
        )
        for batch in reader.read()
    ]
    return reader, batches


def frames_and_spans(file: Path, least_bytes: int) -> list[tuple[Frame, bytes | None]]:
    """Return the frames of a capture, and what lies at their spans, if they have any."""
    files = MappedFiles([str(file)])
    reader, batches = mapped(file, files)
    addresses = reader.index.addresses
    decoder, spans = CaptureDecoder(addresses), FrameSpans(addresses, least_bytes)
    items = []
    for batch in batches:
        spans.add(0, batch)
        items += decoder.feed(batch)
    items += decoder.finish()
    return [
        (frame, None if span is None else read_spans(span, files))
        for each in items
        if isinstance(each, Exchange)
        for frame, span in zip((each.request, each.response), spans.of(each), strict=True)
        if frame is not None
    ]


@pytest.mark.thorough
@for_each("file", sorted(CAPTURES.glob("*.pcap")), ids=lambda file: file.stem)
def test_nearly_all_frames_have_places_and_lie_there(file: Path) -> None:
    """Whatever their size, where no segment came twice."""
    found = frames_and_spans(file, 1)
    with_spans = [(frame, data) for frame, data in found if data is not None]

    assert all(frame.data == data for frame, data in with_spans)
    assert len(with_spans) > 0.9 * len(found)


@pytest.mark.thorough
@for_each("name", sample("hard cases with places", sorted(CASES), 7))
def test_what_is_not_the_frame_has_no_place(name: str, tmp_path: Path) -> None:
    """Loss, repetition and disorder: what has a span lies there, to the last byte."""
    file = write(CASES[name][0](), tmp_path / "hard.pcap")

    assert all(data in (None, frame.data) for frame, data in frames_and_spans(file, 1))


@pytest.mark.thorough
@for_each(
    "name",
    [
        "every packet twice",
        "exact retransmissions",
        "overlapping retransmission with new bytes",
        "sequence numbers wrap",
        "seven-byte segments",
    ],
)
def test_bytes_that_came_twice_are_told_once(name: str, tmp_path: Path) -> None:
    """Every frame has its spans then."""
    file = write(CASES[name][0](), tmp_path / "hard.pcap")

    assert all(data == frame.data for frame, data in frames_and_spans(file, 1))


def test_small_frames_are_not_looked_for() -> None:
    """Their bytes are soon copied."""
    found = frames_and_spans(CAPTURES / "acks.pcap", LEAST_BYTES)

    assert found
    assert all(data is None for frame, data in found if frame.size < LEAST_BYTES)
