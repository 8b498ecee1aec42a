"""Writes the state of a decoder in the middle of a capture, for tests of later releases to read.

    python -m spark_runs.kept_state tests/data/stream_states

A file of a format that a release has written is never written again: each later one must read it.
"""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from folders import CAPTURES
from kdiag.pipeline.decode import FlowRules, PartDecoder, RunPart
from kdiag.pipeline.input.segment_reader import SegmentReader, SplitRun
from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.input.split import walk
from kdiag.pipeline.output.state_graph import FORMAT, encode_state
from kdiag.pipeline.rows.packets import HEADERS, PACKETS, PacketRows

CAPTURE: Final = CAPTURES / "transaction.pcap"
KEPT_AFTER: Final = 171
"""How many packets the state has seen: connections are open then, and wait for responses."""

Emitted = dict[str, list[dict[str, Any]]]


class Decoding:
    """The decoding of the capture, of which the first part may have been long ago.

    Attributes:
        decoder: the only part.
        emitted: its rows.
    """

    def __init__(self, decoder: PartDecoder | None = None) -> None:
        self.decoder = decoder or PartDecoder(RunPart(0, 1), FlowRules())
        self.emitted: Emitted = defaultdict(list)
        splits = walk(str(CAPTURE)).splits
        reader = SegmentReader(SplitRun(splits, 0))
        rows = PacketRows(reader.index.addresses, [*PACKETS.names, *HEADERS.names])
        self._packets = pa.Table.from_batches([rows.batch(each) for each in reader.read()])
        self._recording = SegmentTimestamps(splits)

    def feed(self, first: int, last: int | None = None) -> None:
        """Decode some of the packets."""
        length = None if last is None else last - first
        rows = self._packets.slice(first, length).to_batches()
        self.decoder.feed(rows, self._emit, self._recording)

    def finish(self) -> Emitted:
        """End all connections; return all rows."""
        self.decoder.finish(self._emit, self._recording)
        return self.emitted

    def _emit(self, name: str, batch: pa.RecordBatch) -> None:
        self.emitted[name] += batch.to_pylist()


def main(folder: Path) -> None:
    """Write the state."""
    decoding = Decoding()
    decoding.feed(0, KEPT_AFTER)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"format-{FORMAT}.state").write_bytes(encode_state(decoding.decoder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
