import shutil
import struct
from pathlib import Path

import pytest

from kdiag.errors import CaptureError
from kdiag.pcap.packets.capture_filter import compile_filter

ETHERNET, RAW = 1, 101
needs_tcpdump = pytest.mark.skipif(
    shutil.which("tcpdump") is None, reason="tcpdump compiles filters"
)


@pytest.mark.thorough
@needs_tcpdump
def test_a_filter_is_compiled_for_the_link_type() -> None:
    """The same words are other instructions, which pass packets with all their bytes."""
    programs = {compile_filter("tcp port 9092", each) for each in (ETHERNET, RAW)}

    assert len(programs) == 2
    for program in programs:
        instructions = list(struct.iter_unpack("=HBBI", program))
        assert [each for each in instructions if each[0] == 6] == [(6, 0, 0, 1 << 18), (6, 0, 0, 0)]


@pytest.mark.thorough
@needs_tcpdump
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tcp prt 9092", "syntax error"),
        ("-i lo", "syntax error"),
        ("host \0", "tcpdump cannot compile it: embedded null byte"),
        ("ether host 1:2:3:4:5:6", "only on ethernet"),
    ],
)
def test_a_wrong_filter_is_refused_in_the_words_of_tcpdump(text: str, why: str) -> None:
    """It is one argument, never an option."""
    with pytest.raises(CaptureError, match=why):
        compile_filter(text, RAW)


def test_what_a_filter_cannot_see_is_refused() -> None:
    """It would let nothing pass, without a word."""
    with pytest.raises(CaptureError, match="the kernel takes tags off"):
        compile_filter("vlan 7 and tcp", ETHERNET)


def test_without_tcpdump_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture without its filter would be another one."""
    monkeypatch.setattr("kdiag.pcap.packets.capture_filter._PLACES", ())
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CaptureError, match="install it"):
        compile_filter("tcp", ETHERNET)


@pytest.mark.thorough
def test_a_program_that_is_not_a_tcpdump_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be anything of that name."""
    program = tmp_path / "tcpdump"
    program.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CaptureError, match="tcpdump cannot compile it"):
        compile_filter("tcp", ETHERNET)
