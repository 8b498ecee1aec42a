import re
import shlex
from collections.abc import Iterator

import pytest

import kdiag_cli.app
from folders import ROOT
from kdiag.findings.finding import RULES
from kdiag_cli.commands.help.command import complete_help_topics
from kdiag_cli.commands.help.topics import topic_files, topic_text, topic_titles
from kdiag_cli.output.markdown import markdown_lines
from kdiag_cli.output.terminal import columns_of
from programs.kdiag_program import Printed, kdiag
from tiers.cases import for_each

FILES = sorted(topic_files())


def code_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text that are code."""
    for block in re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield from block.splitlines()


_REDIRECTION = re.compile(r" > [\w./-]+$")


def examples() -> Iterator[str]:
    """Yield the commands in README and every topic, up to a pipe, and those in every text."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for each in (readme, *(topic_text(topic) or "" for topic in FILES)):
        text = each.replace("\\\n", " ").replace("|\n", "| ")
        lines = (line.removeprefix("$ ").partition("  #")[0] for line in code_lines(text))
        found = [line.partition(" | ")[0] for line in lines]
        found += re.findall(r"`(kdiag [^`]+)`", text)
        yield from (_REDIRECTION.sub("", line) for line in found if line.startswith("kdiag "))


def test_the_topics_are_listed_with_their_titles() -> None:
    """In alphabetical order."""
    lines = kdiag("help").out.splitlines()

    assert [line.split()[0] for line in lines[:-2]] == sorted([*FILES, "findings"])
    assert "exit-codes   Exit codes: what a script learns from them" in lines
    assert {"connecting", "decode", "exit-codes", "output"} <= set(FILES)


@pytest.mark.thorough
@for_each("topic", FILES)
def test_a_topic_in_a_pipe_is_its_markdown(topic: str) -> None:
    """Byte by byte, so that it can be kept as a file."""
    done = kdiag("help", topic)

    assert (done.code, done.err) == (0, "")
    assert done.out == topic_files()[topic].read_text(encoding="utf-8")
    assert done.out.startswith(f"# {topic_titles()[topic]}\n")


@pytest.mark.thorough
@for_each("topic", [*FILES, "findings", "KD1203"])
@for_each("width", [80, 200])
def test_a_topic_fits_a_terminal(topic: str, width: int) -> None:
    """Nothing is cut, and lines of code stay whole, so that they can be copied."""
    text = topic_text(topic)
    assert text is not None

    shown = list(markdown_lines(text, Printed(width), min(width, 100)))

    assert max(map(columns_of, shown)) <= min(width, 100)
    assert {f"  {line}".rstrip() for line in code_lines(text)} <= set(shown)
    assert len(shown) > 3


@pytest.mark.thorough
@for_each("line", sorted(set(examples())))
def test_the_commands_in_topics_can_be_typed(line: str) -> None:
    """Each is one of kdiag's, with options that it has."""
    done = kdiag(*shlex.split(line)[1:], "--help")

    assert (done.code, done.err) == (0, "")


def test_topics_have_examples() -> None:
    """The test above has something to test."""
    assert len(list(examples())) > 15


@for_each("topic", FILES)
def test_the_findings_that_a_topic_names_exist(topic: str) -> None:
    """An id that nobody raises would be looked for in vain."""
    text = topic_text(topic)
    assert text is not None
    assert set(re.findall(r"\bKD\d{4}\b", text)) <= set(RULES)


def test_a_finding_is_explained_by_its_id() -> None:
    """In capitals or not; all of them are a topic."""
    assert kdiag("help", "kd1203").out == kdiag("help", "KD1203").out
    assert kdiag("help", "KD1203").out.startswith("# KD1203 (error): the certificate of <address>")
    assert "| KD1203 | error |" in kdiag("help", "findings").out


def test_a_command_without_a_topic_shows_its_help() -> None:
    """It is the same as asking the command."""
    done = kdiag("help", "errcode")

    assert done.code == 0
    assert done.out.startswith("Usage: kdiag errcode [OPTIONS]")
    assert done.out.partition("\n")[2] == kdiag("errcode", "--help").out.partition("\n")[2]
    assert "errcode" in kdiag_cli.app.COMMANDS


def test_a_shell_completes_topics_and_findings_apart() -> None:
    """There are many more findings than topics, and few who type one by hand."""
    offered = dict(complete_help_topics())

    assert offered["exit-codes"].startswith("Exit codes")
    assert offered["findings"].startswith("Findings")
    assert not [name for name in offered if name.startswith("KD")]
    assert "KD1203" in dict(complete_help_topics("KD1"))
    assert "KD1203" in dict(complete_help_topics("kd"))


@for_each("topic", ["nope", "KD9999", "../help/output", ""])
def test_what_is_neither_is_wrong_usage(topic: str) -> None:
    """The topics are named; no other file can be read."""
    done = kdiag("help", topic)

    assert (done.code, done.out) == (2, "")
    assert "connecting, decode, diff, exit-codes, findings, fleet, groups, lab" in done.err


@pytest.mark.thorough
@for_each(
    ("word", "topic"),
    [
        ("tls", "connecting"),
        ("SSL", "connecting"),
        ("pcap", "decode"),
        ("kerberos", "settings"),
        ("offset", "tail"),
        ("lag", "groups"),
        ("kubernetes", "symptoms"),
        ("poison", "symptoms"),
        ("unanswered", "decode"),
    ],
)
def test_a_word_finds_the_topics_that_speak_of_it(word: str, topic: str) -> None:
    """By synonyms and by full text, the best one first, each as the command that shows it."""
    done = kdiag("help", word)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"kdiag help {topic} ")


def test_a_word_finds_findings_too() -> None:
    """By their titles."""
    assert "kdiag help KD1202" in kdiag("help", "certificate").out


def test_a_topic_on_a_terminal_is_shown_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headings are bold."""
    screen = Printed(80, has_colour=True)
    monkeypatch.setattr("kdiag_cli.commands.help.command.Output", lambda: screen)

    kdiag("help", "exit-codes")

    assert screen.lines[0] == "\x1b[1mExit codes: what a script learns from them\x1b[0m"
