import os
import sys
from pathlib import Path

import pytest
import typer

from folders import CAPTURES
from kdiag.errors import CaptureError
from kdiag.pcap.live import LiveCapture
from kdiag.pcap.memory_budget import DEFAULT_LIMITS
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tcp.counts import Counts
from kdiag_cli.captures.source import (
    decoder_limits,
    note_disorder,
    note_memory,
    open_traffic,
    read_keylogs,
    read_topic_ids,
)
from kdiag_cli.options.captures import CaptureInputs

SECRET = b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48 + b"\n"


def reader() -> CaptureReader:
    """Return what reads a capture that ships."""
    opened = open_traffic(CaptureInputs(files=[str(CAPTURES / "acks.pcap")]))
    assert isinstance(opened, CaptureReader)
    return opened


def test_files_are_read_where_no_interface_is_named() -> None:
    """Captures come from files."""
    traffic = reader()

    assert sum(len(batch.packet) for batch in traffic.read_segments()) > 0


@pytest.mark.thorough
@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="capturing needs Linux and root"
)
def test_an_interface_is_captured_from_where_one_is_named(tmp_path: Path) -> None:
    """Its packets are kept in the file that was asked for."""
    kept = tmp_path / "kept.pcap"
    with open_traffic(CaptureInputs(files=[], live="lo", write=kept)) as live:  # type: ignore[union-attr]
        assert isinstance(live, LiveCapture)
        assert kept.exists()


def test_connections_that_were_ended_for_memory_are_told() -> None:
    """With the option that allows more."""
    assert note_memory(Counts()) == []
    (warning,) = note_memory(Counts(given_up=3))
    assert warning.startswith("3 connections ended early, the quietest ones: ")
    assert "--max-memory" in warning


def test_connections_that_went_on_after_a_long_silence_are_told() -> None:
    """They are listed twice."""
    (warning,) = note_memory(Counts(resumed=1))
    assert warning.startswith("1 connection went on after more than an hour of silence")


def test_responses_out_of_order_are_told_with_the_first_of_them() -> None:
    """Brokers answer in order, so something between changes it or the capture misleads."""
    assert note_disorder(Counts()) == []
    (warning,) = note_disorder(Counts(overtaken=2, first_overtaken=7))
    assert warning.startswith(
        "2 responses came after one to a later request, the first in exchange 7:"
    )


def test_responses_before_their_requests_are_told_with_the_skew() -> None:
    """Nobody knows their latency: the clocks differ by more than the broker needed."""
    (warning,) = note_disorder(Counts(early=31, first_early=4, skew_ns=1_060_000))
    assert warning == (
        "31 responses captured before the end of the request, by up to 1.06 ms, the first in "
        "exchange 4: the two directions were recorded by clocks that differ by more than that; "
        "these exchanges have no latency"
    )


def test_key_logs_are_read_together(tmp_path: Path) -> None:
    """Each file adds its secrets."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(SECRET)
    other.write_bytes(SECRET.replace(b"ab", b"ef"))

    assert len(read_keylogs([one, other], reader())) == 2
    assert len(read_keylogs([], reader())) == 0


def test_a_file_without_a_secret_is_an_error_that_says_so(tmp_path: Path) -> None:
    """A wrong file is named, and so is the one that is meant."""
    wrong = tmp_path / "wrong"
    wrong.write_text("no secrets here\n")

    with pytest.raises(CaptureError, match="holds no TLS secret: give the file that SSLKEYLOGFILE"):
        read_keylogs([wrong], reader())
    with pytest.raises(CaptureError, match="cannot be opened: No such file"):
        read_keylogs([tmp_path / "none"], reader())


def test_a_log_without_secrets_yet_may_get_some_in_a_live_capture(tmp_path: Path) -> None:
    """A program writes them when it connects; a file of something else stays an error."""
    live = LiveCapture.__new__(LiveCapture)  # not opened: that needs root
    empty, wrong = tmp_path / "empty", tmp_path / "wrong"
    empty.touch()
    wrong.write_text("no secrets here\n")

    assert len(read_keylogs([empty], live)) == 0
    with pytest.raises(CaptureError, match="holds no TLS secret"):
        read_keylogs([wrong], live)


def test_topic_ids_are_read_from_lines_of_two_words(tmp_path: Path) -> None:
    """Blank lines and comments are passed over."""
    file = tmp_path / "ids"
    file.write_text("# mine\n\nAAAAAAAAAAAAAAAAAAAACQ orders\n", encoding="utf-8")
    assert read_topic_ids(file) == {"AAAAAAAAAAAAAAAAAAAACQ": "orders"}
    assert read_topic_ids(None) == {}


@pytest.mark.parametrize("line", ["orders", "short orders", "AAAAAAAAAAAAAAAAAAAACQ a b"])
def test_a_line_that_is_something_else_is_refused_by_its_number(tmp_path: Path, line: str) -> None:
    """The file is the user's, so the user is told where."""
    file = tmp_path / "ids"
    file.write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(typer.BadParameter, match="line 2"):
        read_topic_ids(file)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Missing, or not text."""
    with pytest.raises(typer.BadParameter, match="No such file"):
        read_topic_ids(tmp_path / "missing")
    file = tmp_path / "binary"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(typer.BadParameter, match="not UTF-8"):
        read_topic_ids(file)


def test_limits_that_are_not_given_are_those_of_the_decoder() -> None:
    """Zero is a limit, too."""
    assert decoder_limits(CaptureInputs()) == DEFAULT_LIMITS
    limits = decoder_limits(
        CaptureInputs(max_frame_bytes=0, max_waiting_bytes=7, max_memory_bytes=9)
    )
    assert (limits.max_frame_bytes, limits.max_waiting_bytes) == (0, 7)
    assert limits.max_memory_bytes == 9
