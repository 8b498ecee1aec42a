import json
from pathlib import Path

import msgspec
import pytest

from folders import CAPTURES
from kdiag_cli.commands.report.diff.document import DiffOutput
from made_values.steady_load import USUAL, write_load
from programs.kdiag_program import kdiag, kdiag_on_terminal

pytestmark = pytest.mark.thorough

GROUP, ACKS = CAPTURES / "produce_consume_group.pcap", CAPTURES / "acks.pcap"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with captures of a load: twice the same, and with a delay of 5 ms."""
    folder = tmp_path_factory.mktemp("loads")
    write_load(folder / "one.pcap", 11)
    write_load(folder / "same.pcap", 12)
    write_load(folder / "late.pcap", 13, USUAL._replace(delay_ms=5))
    return folder


def test_the_same_load_differs_by_noise_alone(folder: Path) -> None:
    """It is said in words, with the test; the rows are there in a pipe with their numbers."""
    done = kdiag("diff", folder / "one.pcap", folder / "same.pcap", "--exit-code")
    head, *rows = done.out.splitlines()

    assert done.code == 0
    assert done.err.startswith("kdiag: no difference beyond noise. ")
    assert "Mann-Whitney" in done.err
    assert head.split("\t")[:5] == ["VERDICT", "WHAT", "OF", "BEFORE", "AFTER"]
    assert {row.split("\t")[0] for row in rows} == {"not proven", "too few"}


def test_a_delay_is_told_on_a_terminal_with_units(folder: Path) -> None:
    """Differences come first; with --exit-code the exit code tells them."""
    done = kdiag_on_terminal(120, "diff", folder / "one.pcap", folder / "late.pcap", "--exit-code")
    first = done.out.splitlines()[1].split()

    assert done.code == 1
    assert first[:4] == ["slower", "latency,", "p50", "Produce"]
    assert "ms" in first
    assert "beyond noise" in done.err


def test_a_document_has_all_that_was_compared(folder: Path, tmp_path: Path) -> None:
    """Of tables as of their capture."""
    kdiag("decode", folder / "late.pcap", "-o", "parquet", "--out", tmp_path)
    done = kdiag("diff", folder / "one.pcap", tmp_path, "-o", "json")
    document = json.loads(done.out)
    (data,) = document["data"]

    shaped = msgspec.convert(document, DiffOutput)
    assert json.loads(msgspec.json.encode(shaped)) == document, "it has the shape of its schema"
    assert (done.code, document["schema"], document["command"]) == (0, 1, "diff")
    assert data["differs"] is True
    assert data["test"]["correction"] == "Holm"
    assert data["before"]["exchanges"] == data["after"]["exchanges"] == 400
    assert "p50_us" in {each["quantity"] for each in data["measured"] if each["verdict"] == "more"}
    assert data["stated"] == data["errors"] == []


def test_a_larger_change_can_be_asked_for(folder: Path) -> None:
    """5 ms on 2 ms are less than ten times as much."""
    captures = (folder / "one.pcap", folder / "late.pcap")
    done = kdiag("diff", *captures, "--least-change", 900, "--exit-code")

    assert (done.code, "no difference beyond noise" in done.err) == (0, True)


def test_other_captures_differ_in_clients_and_topics() -> None:
    """And of what is too little nothing is claimed."""
    done = kdiag("diff", GROUP, ACKS)

    verdicts = {line.split("\t")[0] for line in done.out.splitlines()[1:]}
    assert verdicts >= {"new", "gone", "too few"}
    same = kdiag("diff", GROUP, GROUP)
    assert "too little traffic to separate noise from differences" in same.err


def test_a_capture_that_is_cut_makes_a_partial_result(folder: Path, tmp_path: Path) -> None:
    """Which is more than that there is a difference."""
    (tmp_path / "cut.pcap").write_bytes((folder / "late.pcap").read_bytes()[:-20])
    done = kdiag("diff", folder / "one.pcap", tmp_path / "cut.pcap", "--exit-code")

    assert done.code == 8
