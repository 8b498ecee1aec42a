import sys
from pathlib import Path

import pytest

from kdiag.errors import CaptureError, DecodeError, EncodeError, ProbeError, install_command


def test_a_decode_error_says_where_and_why() -> None:
    """Field path and offset come first, then the reason; without a path, the offset alone."""
    assert str(DecodeError("topics[0]", 7, "too short")) == "topics[0] at byte 7: too short"
    assert str(DecodeError("", 7, "left over")) == "byte 7: left over"


def test_an_encode_error_says_which_field() -> None:
    """The path comes first where there is one."""
    assert str(EncodeError("key", "null")) == "key: null"
    assert str(EncodeError("", "null")) == "null"


def test_a_capture_error_says_file_offset_and_packet() -> None:
    """The file comes first; offset and last good packet where they are known."""
    assert str(CaptureError("a.pcap", "not a capture")) == "a.pcap: not a capture"
    whole = CaptureError("a.pcap", "cut", offset=120, packet=3)
    assert str(whole) == "a.pcap, byte 120 (after packet 3): cut"


def test_a_probe_error_says_what_it_is_about_and_why() -> None:
    """Both stand in its text."""
    assert str(ProbeError("topic orders", "cannot be created")) == "topic orders: cannot be created"


@pytest.mark.parametrize(
    ("file", "content", "command"),
    [
        ("pyvenv.cfg", "home = /usr/bin\n", "pip install 'kdiag[scapy]'"),
        ("pyvenv.cfg", "home = /usr/bin\nuv = 0.9.1\n", "uv pip install 'kdiag[scapy]'"),
        ("other", "", "pip install 'kdiag[scapy]'"),
    ],
)
def test_an_extra_is_added_by_what_made_the_environment(
    file: str, content: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By pip unless the environment says that it is uv's."""
    (tmp_path / file).write_text(content)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    assert install_command("scapy") == command


@pytest.mark.parametrize(
    ("file", "command"),
    [("pipx_metadata.json", "pipx install --force "), ("uv-receipt.toml", "uv tool install ")],
)
def test_an_environment_of_one_program_keeps_the_extras_that_it_has(
    file: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are made anew with all that is asked for."""
    (tmp_path / file).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    for missing in ("botocore", "vl_convert", "hdrh", "pyspark", "scapy", "duckdb"):
        monkeypatch.setitem(sys.modules, missing, None)

    assert install_command("scapy") == f"{command}'kdiag[scapy]'"
    monkeypatch.setitem(sys.modules, "hdrh", sys)
    assert install_command("scapy") == f"{command}'kdiag[latency,scapy]'"
