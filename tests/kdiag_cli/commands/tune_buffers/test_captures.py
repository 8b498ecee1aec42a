import json
from pathlib import Path
from typing import Any

import pytest

from folders import CAPTURES
from programs.kdiag_program import kdiag
from recordings.capture_writer import Section, savefile
from recordings.tcp_story import Story


def busy(story: Story, *, broker_ms: float) -> Story:
    """Tell 100 kB of what is no Kafka, a segment per round trip to the broker."""
    for number in range(100):
        story.client(100 + number * broker_ms, size=1000)
        story.broker(100 + (number + 1) * broker_ms - 0.001)
    return story


def tune(tmp_path: Path, story: Story, *options: str) -> Any:
    """Return what is told of a story as a document."""
    file = tmp_path / "story.pcap"
    file.write_bytes(savefile(story.packets))
    done = kdiag("tune-buffers", file, "-o", "json", *options)
    assert done.code == 0
    return json.loads(done.out)


@pytest.mark.thorough
def test_a_capture_of_loopback_is_told_that_buffers_make_no_difference(tmp_path: Path) -> None:
    """A round trip of tens of microseconds fills no buffer."""
    story = busy(Story().open(client_ms=0.01, broker_ms=0.02), broker_ms=0.02)
    document = tune(tmp_path, story)
    assert document["findings"] == []
    assert "1 connection with round trips below 1 ms" in document["warnings"][0]


@pytest.mark.thorough
def test_a_capture_without_a_handshake_says_what_it_cannot_tell(tmp_path: Path) -> None:
    """Only SYNs tell how windows are scaled."""
    document = tune(tmp_path, busy(Story().client(0), broker_ms=20))
    assert "1 connection without a handshake" in document["warnings"][0]
    assert document["data"][0]["tcp"]["requests"]["window_bytes"] is None


@pytest.mark.thorough
def test_packets_that_the_recorder_dropped_make_the_result_partial(tmp_path: Path) -> None:
    """What limits a connection may have been in them."""
    section = Section()
    file = section.start() + section.interface()
    for packet in busy(Story().open(), broker_ms=20).packets:
        file += section.packet(packet.data, packet.time_ns // 1000)
    path = tmp_path / "story.pcapng"
    path.write_bytes(file + section.statistics(interface_drops=0, system_drops=9))
    done = kdiag("tune-buffers", path, "-o", "json")

    assert done.code == 8
    assert json.loads(done.out)["warnings"] == [
        "the kernel dropped 9 packets that came faster than they were read"
    ]


def test_connections_with_too_few_bytes_are_counted() -> None:
    """On stderr, so that a pipe without a row says why."""
    done = kdiag("tune-buffers", CAPTURES / "acks.pcap")
    assert (done.code, done.out) == (0, "")
    assert done.err == "kdiag: 6 connections with too few bytes to judge what limits them\n"


@pytest.mark.thorough
def test_a_document_names_command_and_connections(tmp_path: Path) -> None:
    """As every document of kdiag with its schema."""
    document = tune(tmp_path, busy(Story().open(), broker_ms=20))
    assert (document["schema"], document["command"]) == (1, "tune-buffers")
    (connection,) = document["data"]
    assert (connection["connection"], connection["client"]) == (1, "10.0.0.1:40000")
    assert connection["tcp"]["vantage"] == "client"


@pytest.mark.thorough
def test_real_captures_are_read() -> None:
    """Every capture of the repository, of loopback all, has a row or nothing, and no finding."""
    for capture in sorted(CAPTURES.glob("*.pcap")):
        done = kdiag("tune-buffers", capture, "--fail-on", "info")
        assert done.code in {0, 8}, (capture, done)
        assert "KD6" not in done.err


def test_findings_make_the_exit_code_if_that_is_asked_for(tmp_path: Path) -> None:
    """Windows that cannot be scaled are a warning."""
    file = tmp_path / "story.pcap"
    story = Story().open(client_options=[("MSS", 1460)], broker_options=[("MSS", 1460)])
    file.write_bytes(savefile(story.packets))
    assert kdiag("tune-buffers", file).code == 0
    done = kdiag("tune-buffers", file, "--fail-on", "warning")
    assert done.code == 1
    assert "KD6001" in done.err


@pytest.mark.parametrize("data", [b"", b"no capture at all"])
def test_what_is_no_capture_is_told(tmp_path: Path, data: bytes) -> None:
    """As by every command that reads captures."""
    file = tmp_path / "bad.pcap"
    file.write_bytes(data)
    done = kdiag("tune-buffers", file)
    assert done.code == 2
    assert "bad.pcap" in done.err
