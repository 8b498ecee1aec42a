import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.pipeline.session import INSTALL_JAVA
from kdiag_cli.exit_code import ExitCode
from programs.kdiag_program import kdiag, kdiag_apart, start_kdiag


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let all be there but Java."""
    monkeypatch.setattr("kdiag.pipeline.session._LIBRARIES", ())
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("no_java")
def test_what_is_missing_is_said_with_the_line_that_installs_it(tmp_path: Path) -> None:
    """In one line, without a traceback."""
    for arguments in (("run", CAPTURES, "--out", tmp_path), ("report", "clients", tmp_path)):
        done = kdiag("pipeline", *arguments)

        assert (done.code, done.out) == (ExitCode.USAGE, "")
        assert f"Spark: this needs Java: {INSTALL_JAVA}" in done.err


@pytest.mark.soak
def test_what_the_jvm_says_is_shown_when_it_does_not_start(tmp_path: Path) -> None:
    """Else it is not: it greets at length."""
    conf = ("--conf", "spark.driver.memory=nonsense")
    done = kdiag_apart("pipeline", "run", CAPTURES / "acks.pcap", "--out", tmp_path, *conf)

    assert done.code == ExitCode.USAGE
    assert "Invalid maximum heap size: -Xmxnonsense" in done.err
    assert done.err.splitlines()[-1].startswith("kdiag: Spark: does not start: ")


@pytest.mark.soak
def test_ctrl_c_ends_a_stream_in_silence(tmp_path: Path) -> None:
    """It goes on from there when it is started again; Spark would tell at length."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    shutil.copy(CAPTURES / "acks.pcap", folder)
    command = ["pipeline", "stream", folder, "--out", out, "--checkpoint", tmp_path / "checkpoint"]
    command += ["--parts", 1, "--quiet", 0, "--every", "1s", "--master", "local[2]"]
    with start_kdiag(*command, stderr=subprocess.PIPE) as program:
        assert program.lasts_until(out.exists)
        program.send_signal(signal.SIGINT)
        _, said = program.communicate()
    assert (program.returncode, said) == (ExitCode.INTERRUPTED, b"")
    with start_kdiag(*command, "--once", "--close") as program:
        assert program.wait() == ExitCode.DONE
    query = "SELECT count(*) FROM exchanges"
    expected = kdiag("query", CAPTURES / "acks.pcap", query, "-o", "csv")
    assert kdiag("query", out, query, "-o", "csv").out == expected.out
