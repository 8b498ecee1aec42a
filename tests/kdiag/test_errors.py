import sys
from collections.abc import Callable
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


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], object]:
    """Return a function that has kdiag installed in a new environment, from a URL or an index."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    facts = tmp_path / "kdiag-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: kdiag\nVersion: 0.1.0\n")
    return (facts / "direct_url.json").write_text


EDITABLE = '{"dir_info": {"editable": true}, "url": "file:///src/my%20kdiag"}'
FOLDER = '{"dir_info": {}, "url": "file:///src/kdiag"}'
GIT = '{"vcs_info": {"vcs": "git"}, "url": "https://example.org/kdiag"}'
INDEX = "{}"


@pytest.mark.parametrize(
    ("file", "content", "source", "command"),
    [
        ("pyvenv.cfg", "home = /usr/bin\n", INDEX, "pip install 'kdiag[scapy]'"),
        ("pyvenv.cfg", "home = /usr/bin\nuv = 0.9.1\n", INDEX, "uv pip install 'kdiag[scapy]'"),
        ("other", "", INDEX, "pip install 'kdiag[scapy]'"),
        ("pyvenv.cfg", "", EDITABLE, "pip install -e '/src/my kdiag[scapy]'"),
        ("pyvenv.cfg", "", FOLDER, "pip install '/src/kdiag[scapy]'"),
        ("pyvenv.cfg", "", GIT, "pip install 'kdiag[scapy] @ git+https://example.org/kdiag'"),
    ],
)
def test_an_extra_is_added_by_what_made_the_environment(  # noqa: PLR0913, PLR0917 - fixtures
    file: str,
    content: str,
    source: str,
    command: str,
    tmp_path: Path,
    install: Callable[[str], object],
) -> None:
    """By pip unless the environment says that it is uv's; from where kdiag came from."""
    (tmp_path / file).write_text(content)
    install(source)

    assert install_command("scapy") == command


def test_the_pip_of_an_environment_that_is_not_active_is_named(
    tmp_path: Path, install: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other `pip` on the PATH would install into another Python."""
    install(INDEX)
    (tmp_path / "pyvenv.cfg").touch()
    monkeypatch.delenv("VIRTUAL_ENV")

    assert install_command("scapy") == f"{tmp_path}/bin/pip install 'kdiag[scapy]'"
    monkeypatch.chdir(tmp_path)
    assert install_command("scapy") == "bin/pip install 'kdiag[scapy]'"
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.9.1\n")
    assert install_command("scapy") == f"uv pip install --python {tmp_path} 'kdiag[scapy]'"


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("pipx_metadata.json", "pipx install --force "),
        ("uv-receipt.toml", "uv tool install --force "),
    ],
)
def test_an_environment_of_one_program_keeps_the_extras_that_it_has(
    file: str,
    command: str,
    tmp_path: Path,
    install: Callable[[str], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are made anew with all that is asked for."""
    install(FOLDER)
    (tmp_path / file).touch()
    for missing in ("botocore", "vl_convert", "hdrh", "pyspark", "scapy", "duckdb"):
        monkeypatch.setitem(sys.modules, missing, None)

    assert install_command("scapy") == f"{command}'/src/kdiag[scapy]'"
    monkeypatch.setitem(sys.modules, "hdrh", sys)
    assert install_command("scapy") == f"{command}'/src/kdiag[latency,scapy]'"
