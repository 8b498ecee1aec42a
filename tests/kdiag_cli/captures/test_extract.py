import json
import os
from pathlib import Path

import pytest

from folders import CAPTURES
from programs.kdiag_program import kdiag
from tiers.cases import for_each

SASL = CAPTURES / "sasl_plain.pcap"
GROUP = CAPTURES / "produce_consume_group.pcap"
ADMIN = CAPTURES / "admin.pcap"


@pytest.mark.thorough
def test_a_line_tells_what_was_written_and_masked(tmp_path: Path) -> None:
    """Beside what is printed as ever."""
    done = kdiag("decode", SASL, "--write", tmp_path / "out.pcap")

    assert (done.code, done.out) == (0, kdiag("decode", SASL).out)
    _, wrote = done.err.splitlines(keepends=True)
    assert wrote == (
        f"kdiag: wrote 136 packets of 6 connections to {tmp_path / 'out.pcap'}; "
        "masked 124 bytes (secrets in 6 packets); --show-secrets leaves them as they are\n"
    )
    shown = kdiag("decode", tmp_path / "out.pcap", "--summary").out
    assert shown.replace(str(tmp_path / "out.pcap"), str(SASL)) == (
        kdiag("decode", SASL, "--summary").out
    )


@pytest.mark.thorough
def test_the_summary_has_the_counts_for_programs(tmp_path: Path) -> None:
    """As the line has them for people."""
    out = tmp_path / "out.pcap"
    done = kdiag("decode", SASL, "--summary", "-o", "json", "--write", out)

    written = json.loads(done.out)["written"]
    assert written == {
        "path": str(out),
        "packets": 136,
        "connections": 6,
        "masked_bytes": 124,
        "secret_packets": 6,
        "unknown_packets": 0,
        "encrypted_connections": 0,
        "left_out_segments": 0,
    }
    assert "masked 124 bytes" in done.err
    assert "written" not in json.loads(kdiag("decode", SASL, "--summary", "-o", "json").out)


@pytest.mark.thorough
@for_each("form", [("--summary",), ("-o", "jsonl"), ("-o", "json"), ("-o", "csv")])
def test_options_choose_the_connections(form: tuple[str, ...], tmp_path: Path) -> None:
    """Those with a chosen exchange; all their exchanges come along."""
    done = kdiag("decode", GROUP, "--api", "Produce", *form, "--write", tmp_path / "out.pcap")
    assert done.code == 0

    lines = kdiag("decode", tmp_path / "out.pcap", "-o", "jsonl").out.splitlines()
    apis = {each["api"] for each in map(json.loads, lines) if each["kind"] == "exchange"}
    assert {"Produce", "ApiVersions"} <= apis
    assert "Fetch" not in apis


@pytest.mark.thorough
def test_secrets_can_be_kept(tmp_path: Path) -> None:
    """With the option that shows them elsewhere."""
    done = kdiag("decode", SASL, "--summary", "--show-secrets", "--write", tmp_path / "out.pcap")

    assert "masked" not in done.err
    shown = kdiag("decode", tmp_path / "out.pcap", "--show-secrets", "-o", "jsonl").out
    assert shown == kdiag("decode", SASL, "--show-secrets", "-o", "jsonl").out


def test_a_filter_that_chooses_nothing_writes_an_empty_capture(tmp_path: Path) -> None:
    """And says what there is, as without the option."""
    done = kdiag("decode", GROUP, "--client", "nobody", "--write", tmp_path / "out.pcap")
    assert "no exchange of" in done.err
    assert "wrote 0 packets of 0 connections" in done.err


def test_inputs_are_never_overwritten(tmp_path: Path) -> None:
    """By whatever name they are given, alone or in a folder."""
    file, other = tmp_path / "in.pcap", tmp_path / "link.pcap"
    file.write_bytes(SASL.read_bytes())
    other.symlink_to(file)
    for source, target in ((file, file), (file, other), (tmp_path, file)):
        done = kdiag("decode", source, "--write", target)
        assert done.code == 2
        assert "is one of the inputs" in done.err
    assert file.read_bytes() == SASL.read_bytes()


def test_what_can_be_read_only_once_is_refused(tmp_path: Path) -> None:
    """Before anything is read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for source in ("-", pipe):
        done = kdiag("decode", source, "--write", tmp_path / "out.pcap")
        assert (done.code, done.out) == (2, "")
        assert "reads the captures twice" in " ".join(done.err.split())
    assert not (tmp_path / "out.pcap").exists()


@pytest.mark.thorough
def test_an_extract_in_the_folder_that_is_read_is_not_read_itself(tmp_path: Path) -> None:
    """The inputs are those that were there at first."""
    (tmp_path / "in.pcap").write_bytes(ADMIN.read_bytes())
    done = kdiag("decode", tmp_path, "--summary", "--write", tmp_path / "a.pcap")
    assert done.code == 0
    assert "wrote " in done.err


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """The exit code is 2, and the name is told."""
    done = kdiag("decode", SASL, "--summary", "--write", tmp_path / "no" / "out.pcap")
    assert done.code == 2
    assert "there is no folder" in done.err
