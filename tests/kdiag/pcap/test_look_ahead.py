import io
import os
from pathlib import Path

import pytest

from kdiag.errors import CaptureError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.pcap.files.window import BLOCK_BYTES, STDIN
from kdiag.pcap.look_ahead import can_read_twice, find_client_randoms, learn_all_names
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kdiag.wire.primitives import uuid_text
from recordings.exchange_maker import capture_of, request_bytes, response_bytes

TOPIC_ID = bytes(range(16))


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Return a capture whose second exchange tells the name of a topic id."""
    nothing = MetadataResponse(brokers=[], topics=[])
    topic = MetadataResponseTopic(error_code=0, name="orders", topic_id=TOPIC_ID, partitions=[])
    told = MetadataResponse(brokers=[], topics=[topic])
    path = tmp_path / "named.pcap"
    path.write_bytes(
        capture_of(
            [
                (False, request_bytes(MetadataRequest(topics=[]), 12, correlation_id=1)),
                (True, response_bytes(nothing, 12, correlation_id=1)),
                (False, request_bytes(MetadataRequest(topics=None), 12, correlation_id=2)),
                (True, response_bytes(told, 12, correlation_id=2)),
            ]
        )
    )
    return path


def test_the_names_of_a_capture_are_known_after_reading_ahead(capture: Path) -> None:
    """A name is learnt wherever in the capture it is, and what was known stays known."""
    names = TopicNames({"known": "before"})
    learn_all_names(names, [capture])

    assert names.name(uuid_text(TOPIC_ID)) == "orders"
    assert names.name("known") == "before"


def test_reading_ahead_leaves_the_input_for_another_reading(capture: Path) -> None:
    """The same path gives the same names again."""
    first, second = TopicNames(), TopicNames()
    learn_all_names(first, [capture], ports=[9092])
    learn_all_names(second, [str(capture.parent)])

    assert len(first) == len(second) == len(TopicNames()) + 1


def test_an_input_that_is_no_capture_is_an_error_when_read_ahead(tmp_path: Path) -> None:
    """It is the same error as when reading for the first time."""
    path = tmp_path / "no.pcap"
    path.write_bytes(b"nothing that could be a capture")
    with pytest.raises(CaptureError):
        learn_all_names(TopicNames(), [path])


def test_files_and_folders_can_be_read_twice(capture: Path) -> None:
    """A path may be given as text."""
    assert can_read_twice([capture, str(capture), capture.parent])
    assert can_read_twice([])


def test_pipes_and_open_files_cannot_be_read_twice(capture: Path) -> None:
    """One such input among others is enough."""
    pipe = capture.with_name("pipe")
    os.mkfifo(pipe)

    assert not can_read_twice([capture, STDIN])
    assert not can_read_twice([io.BytesIO(capture.read_bytes())])
    assert not can_read_twice([pipe])
    assert not can_read_twice([capture.with_name("absent")])


@pytest.mark.thorough
def test_the_client_randoms_of_captures_are_found_across_windows(tmp_path: Path) -> None:
    """Of files; a pipe is read once, so that they are not known beforehand."""
    hello = b"\x16\x03\x01\0\x80\x01\0\0\x7c\x03\x03"
    file = tmp_path / "tls.pcap"
    exchanges = [
        (False, bytes(700) + hello + bytes([number % 256] * 400)) for number in range(2000)
    ]
    file.write_bytes(capture_of(exchanges))
    assert file.stat().st_size > BLOCK_BYTES
    expected = frozenset(bytes([number] * 32) for number in range(256))
    assert find_client_randoms([tmp_path]) == expected
    assert find_client_randoms([STDIN]) is None
