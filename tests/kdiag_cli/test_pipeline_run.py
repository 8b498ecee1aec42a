import json
import subprocess
from pathlib import Path

import pytest

from kdiag.pipeline.session import INSTALL_JAVA
from kdiag_cli.exit_code import ExitCode
from kdiag_program import Done, kdiag, start_kdiag

CAPTURES = Path(__file__).parents[2] / "captures"


def kdiag_apart(*arguments: object) -> Done:
    """Run the program as a process of its own: a session of Spark is one for a process."""
    process = start_kdiag(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate()
    return Done(process.returncode, out.decode(), err.decode())


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no Java be found."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("no_java")
def test_what_is_missing_is_said_with_the_line_that_installs_it(tmp_path: Path) -> None:
    """In one line, without a traceback."""
    for arguments in (("run", CAPTURES, "--out", tmp_path), ("report", "clients", tmp_path)):
        done = kdiag("pipeline", *arguments)

        assert (done.code, done.out) == (ExitCode.USAGE, "")
        assert f"Spark: this needs Java: {INSTALL_JAVA}" in done.err


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--from", "yesterday", "'yesterday' is not a time"),
        ("--to", "12:00", "is not a time"),
        ("--conf", "spark", "'spark' is not key=value"),
        ("--topic-ids", "/nowhere", "No such file"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    option: str, value: str, why: str, tmp_path: Path
) -> None:
    """Before anything is started."""
    done = kdiag("pipeline", "run", CAPTURES, "--out", tmp_path, option, value)

    assert done.code == ExitCode.USAGE
    assert why in done.err


@pytest.mark.spark
def test_tables_are_written_and_asked(tmp_path: Path) -> None:
    """What is written is said in the document; a cut capture makes the run partial."""
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((CAPTURES / "acks.pcap").read_bytes()[:-10])
    out = tmp_path / "out"
    done = kdiag_apart("pipeline", "run", cut, "--out", out, "--parts", 2, "-o", "json")
    assert done.code == ExitCode.PARTIAL
    document = json.loads(done.out)
    assert document["data"][0]["rows"]["exchanges"] > 0
    assert "ends within a packet" in document["warnings"][0]
    here = kdiag("report", "clients", out, "-o", "csv")
    there = kdiag_apart("pipeline", "report", "clients", out, "-o", "csv")

    assert (there.code, there.out) == (ExitCode.DONE, here.out)
    assert len(here.out.splitlines()) > 1
