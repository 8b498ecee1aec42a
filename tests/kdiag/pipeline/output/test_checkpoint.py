from pathlib import Path

import pytest

from kdiag.exchange.model import Connection, Exchange
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.reader import CaptureReader
from kdiag.pipeline.output.checkpoint import load_state, save_state
from kdiag.pipeline.output.whole_files import read_whole, write_whole
from recordings.capture_sets import recorded_sets, write_hard_cases
from tiers.sampling import sample

LARGE_BYTES = 100_000


def test_what_is_kept_comes_back_or_is_nothing(tmp_path: Path) -> None:
    """Views of memory come back as views of a copy."""
    uri = str(tmp_path / "new" / "value")
    assert load_state(uri) is None
    save_state(uri, {"a": memoryview(b"abc")[1:]})
    assert load_state(uri) == {"a": b"bc"}
    save_state(uri, 1)
    assert load_state(uri) == 1
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["value"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """There is no moment at which it is half written under its name."""
    uri = str(tmp_path / "file")
    assert read_whole(uri) is None
    for data in (b"one", b""):
        write_whole(uri, data)
        assert read_whole(uri) == data


def told(item: Item) -> str:
    """Return what an item tells at the time it is complete, in words."""
    if isinstance(item, Connection):
        return repr(item)
    if isinstance(item, Exchange):
        parts = (item.number, item.connection.connection_id, item.request, item.response)
        return repr((parts, item.pairing, item.guessed))
    return repr((item.connection.connection_id, item.offset, item.size, item.time_ns))


def decode(files: list[Path], uri: str | None) -> list[str]:
    """Return what a capture decodes to; with a uri, the decoder is kept after each block."""
    reader = CaptureReader(files, block_bytes=4096)
    decoder = CaptureDecoder(reader.addresses)
    decoder.follow_tcp()  # then it keeps no SYN as a packet, as that of a pipeline keeps none
    items: list[str] = []
    for batch in reader.read_segments():
        items += map(told, decoder.feed(batch))
        if uri is not None:
            save_state(uri, (decoder, reader.addresses))
            kept = load_state(uri, tuple)
            assert kept is not None
            decoder, reader.index.addresses = kept
    return sorted([*items, *map(told, decoder.finish())])


def size_of(file: Path) -> int:
    """Return the size of a file in bytes."""
    return file.stat().st_size


@pytest.mark.thorough
@pytest.mark.parametrize("is_hard", [False, True])
def test_a_decoder_that_was_kept_goes_on_as_if_it_had_not(tmp_path: Path, *, is_hard: bool) -> None:
    """In the middle of a frame, of a search, of a connection that nobody has understood yet."""
    sets = list(write_hard_cases(tmp_path) if is_hard else recorded_sets())
    small = [each for each in sets if sum(map(size_of, each.files)) < LARGE_BYTES]
    uri = str(tmp_path / "kept")
    for capture in sample(f"kept, hard: {is_hard}", small, 4):
        assert decode(capture.files, uri) == decode(capture.files, None), capture.name
