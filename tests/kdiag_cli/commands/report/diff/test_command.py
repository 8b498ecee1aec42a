import shlex
from pathlib import Path

import pytest

from kdiag_cli.commands.report.diff.command import EXAMPLES
from made_values.steady_load import Load, write_load
from programs.kdiag_program import kdiag


@pytest.mark.thorough
@pytest.mark.usefixtures("cached")
def test_the_examples_in_the_help_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are typed as they stand, one after the other."""
    monkeypatch.chdir(tmp_path)
    write_load(tmp_path / "before.pcap", 1, Load(requests=30))
    write_load(tmp_path / "after.pcap", 2, Load(requests=30))
    lines = [line.strip() for line in EXAMPLES.splitlines() if line.startswith("  kdiag ")]

    assert len(lines) >= 5
    for line in lines:
        done = kdiag(*shlex.split(line)[1:])
        assert done.code == 0, line


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("a.pcap",), "Missing argument"),
        (("a.pcap", "b.pcap", "--least-change", "-1"), "--least-change"),
        (("a.pcap", "b.pcap", "--html", "missing/x.html"), "there is no folder missing"),
        (("a.pcap", "b.pcap"), "a.pcap"),
    ],
    ids=["one capture", "below zero", "no folder", "no capture"],
)
def test_wrong_usage_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], why: str
) -> None:
    """Nothing is printed."""
    monkeypatch.chdir(tmp_path)

    done = kdiag("diff", *arguments)

    assert (done.code, done.out) == (2, "")
    assert why in done.err
