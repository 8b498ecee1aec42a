import sys

import pytest

from kdiag.findings.finding import Finding, found
from kdiag_cli.output.findings import finding_rows, say_findings
from programs.kdiag_program import Screen

ERROR = found("KD1101", address="10.0.0.7:9092")
LOSSES = [
    found(
        "KD6005",
        connection=number,
        what="requests",
        retransmits=number,
        segments=1000,
        sender_address="a:1",
        receiver_address="b:1",
    )
    for number in range(330)
]


def said(findings: list[Finding], monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    """Return the lines that are told on a terminal."""
    screen = Screen(is_terminal=True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    say_findings(findings)
    return screen.text.splitlines()


def test_findings_are_told_on_stderr_with_their_fix(capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings come first; control characters are made harmless."""
    say_findings([found("KD1101", address="\x1b[2J:1")], ["broker 3 did not answer"])

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "kdiag: broker 3 did not answer",
        r"kdiag: error KD1101: nothing listens on \x1b[2J:1",
        f"kdiag:   {ERROR.fix}",
    ]


def test_findings_on_a_terminal_have_colours_and_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The severity has its own; lines go on below their text."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")

    first, *fix = said([ERROR], monkeypatch, 60)

    assert first == (
        "kdiag: \x1b[1;31merror\x1b[0m \x1b[1mKD1101\x1b[0m: nothing listens on 10.0.0.7:9092"
    )
    assert fix == [
        "kdiag:   Check the port against `listeners` of the broker",
        "         and whether the broker runs.",
    ]


def test_no_color_and_dumb_terminals_are_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is the same."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert said([ERROR], monkeypatch, 80)[0].startswith("kdiag: error KD1101: nothing")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert said([ERROR], monkeypatch, 80)[0].startswith("kdiag: error KD1101: nothing")


def test_a_finding_that_comes_many_times_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """With how often, and the worst; others keep their place."""
    say_findings([*LOSSES[:100], ERROR, *LOSSES[100:]], badness=_retransmits)

    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "kdiag: warning KD6005: 330 times, such as"
    assert lines[1] == (
        "kdiag:   - connection 329: the network loses requests: "
        "329 of 1000 segments were sent again"
    )
    assert lines[5].startswith("kdiag:   - connection 325: ")
    assert lines[6].startswith("kdiag:   Look for errors, drops and shapers")
    assert lines[7:] == [f"kdiag: error KD1101: {ERROR.title}", f"kdiag:   {ERROR.fix}"]


def test_without_an_order_the_first_are_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """Up to three are told one by one."""
    say_findings(LOSSES[:4])
    assert "connection 0: " in capsys.readouterr().err

    say_findings(LOSSES[:3])
    assert len(capsys.readouterr().err.splitlines()) == 6


def _retransmits(finding: Finding) -> tuple[int, ...]:
    return (finding.evidence["retransmits"],)


def test_the_worst_of_many_is_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    """By what their evidence counts, in text and in the rows of a page; few are told one by one."""
    groups = [found("KD3406", group=f"g-{number}", lag=number % 300) for number in range(330)]
    say_findings(groups)
    head, example, *_ = capsys.readouterr().err.splitlines()

    assert "330 times" in head
    assert "g-299" in example
    (row,) = finding_rows(groups)
    assert row[:2] == ("KD3406", groups[0].severity)
    assert row[2].startswith("330 times, such as ")
    assert "g-299" in row[2]
    assert [each[0] for each in finding_rows([ERROR, *groups[:2]])] == ["KD1101", *["KD3406"] * 2]
