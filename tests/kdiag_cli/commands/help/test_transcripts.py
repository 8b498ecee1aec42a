"""README and the help topics show what kdiag really prints."""

import pytest

from folders import CAPTURES, ROOT
from programs.transcripts import (
    PICTURE,
    Transcript,
    fits,
    picture,
    printed,
    texts,
    transcripts,
)
from tiers.cases import for_each

README = ROOT / "README.md"
MOST_BYTES = 12_000
ALL = {f"{file.stem}: {each.line}": each for file in texts() for each in transcripts(file)}
PLAYED = {name: each for name, each in ALL.items() if each.can_run}


@pytest.mark.thorough
@for_each("name", PLAYED)
def test_a_transcript_is_what_is_printed(name: str) -> None:
    """Line by line, but for those that a line of dots stands for, and for times."""
    transcript = PLAYED[name]
    assert fits(transcript.shown, printed(transcript)), printed(transcript)


def test_a_transcript_that_no_test_can_print_says_that_it_is_shortened() -> None:
    """It needs a cluster, or a capture that is not in the repository."""
    assert [name for name, each in ALL.items() if not (each.can_run or each.is_shortened)] == []


def test_every_transcript_of_readme_is_played() -> None:
    """One for each of the five symptoms; nothing in README is shown from memory."""
    assert len([*transcripts(README)]) == 5
    assert all(each.can_run for each in transcripts(README))


def test_a_transcript_that_differs_is_found() -> None:
    """A line more, less or changed; a time that differs is no difference."""
    text = "one 5 ms\ntwo\nthree"
    assert fits("one 60 ms\ntwo\nthree", text)
    assert fits("one 5 ms\n...\nthree", text)
    assert fits("...\nthree", text)
    for shown in (
        "one 5 ms\nthree",
        "one 5 ms\ntwo",
        "one 5 ms\ntwo\nfour",
        "...\ntwo",
        "...\nfour",
    ):
        assert not fits(shown, text), shown


def test_a_text_without_its_capture_is_not_played() -> None:
    """A name of a user's file is no file here."""
    assert not Transcript(README, "kdiag decode traffic.pcap", "x").can_run
    assert Transcript(README, f"kdiag decode {CAPTURES / 'acks.pcap'}", "x").can_run


@pytest.mark.thorough
def test_the_picture_is_what_is_printed() -> None:
    """Drawn from the capture beside it; `python -m programs.transcripts` renews it."""
    assert PICTURE.read_text(encoding="utf-8") == picture()


def test_readme_fits_a_sitting() -> None:
    """Everything else has its home in the help topics."""
    assert len(README.read_bytes()) <= MOST_BYTES
