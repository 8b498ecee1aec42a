"""`kdiag request`: what it takes."""

import shlex
from pathlib import Path

import pytest

from kdiag_cli.commands.request.command import EXAMPLES
from programs.kdiag_program import kdiag
from tiers.cases import for_each


@pytest.mark.thorough
@for_each(
    ("arguments", "why"),
    [
        (["FindCoordinater"], "no API is called 'FindCoordinater'; did you mean FindCoordinator?"),
        (["Metadata", "{", "-b", "localhost:1"], "the argument is not JSON: line 1, column 2"),
        (["Metadata", "-V", "99"], "Metadata has versions 0-13, not 99"),
        (["Metadata", "--to", "everywhere"], "'everywhere' is not a destination"),
        (["Metadata", "--timeout", "soon"], "'soon' is not a duration"),
        ([], "Missing argument 'API'"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_asked(arguments: list[str], why: str) -> None:
    """Exit code 2, and the message says what would be right."""
    done = kdiag("request", *arguments)
    assert (done.code, done.out) == (2, "")
    assert why in " ".join(done.err.replace("│", " ").split())


def test_a_wrong_field_is_said_before_anything_is_asked() -> None:
    """The path, and what was meant."""
    done = kdiag("request", "-b", "localhost:1", "Metadata", '{"topics": [{"nmae": "orders"}]}')
    assert (done.code, done.out) == (2, "")
    assert done.err == ("kdiag: topics[0].nmae: version 13 has no such field; did you mean name?\n")


def test_a_template_needs_no_broker() -> None:
    """It is of the newest version, or of the one that is given."""
    newest = kdiag("request", "FindCoordinator", "--template")
    assert newest.out == '{\n  "keyType": 0,\n  "coordinatorKeys": []\n}\n'
    older = kdiag("request", "FindCoordinator", "--template", "-V", "2")
    assert older.out == '{\n  "key": "",\n  "keyType": 0\n}\n'


def test_fields_are_listed_without_a_broker() -> None:
    """With types, versions, defaults."""
    done = kdiag("request", "find-coordinator", "--fields")
    assert done.out.splitlines() == [
        "FIELD\tTYPE\tVERSIONS\tNULLABLE\tTAG\tDEFAULT",
        'key\tstring\t0-3\t-\t-\t""',
        "keyType\tint8\t1-6\t-\t-\t0",
        "coordinatorKeys\t[]string\t4-6\t-\t-\t[]",
    ]


def example_lines() -> list[str]:
    """Return the examples of the help."""
    lines = (line.strip().partition(" > ")[0] for line in EXAMPLES.splitlines())
    return [line for line in lines if line.startswith("kdiag request")]


@pytest.mark.parametrize("line", example_lines())
def test_the_examples_in_the_help_can_be_sent(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a request of its API; nothing is sent here."""
    monkeypatch.chdir(tmp_path)
    for name in ("offsets.json", "quorum.json"):
        (tmp_path / name).write_text("{}")
    arguments = shlex.split(line)[1:]
    shows = {"--template", "--fields", "--dry-run"} & set(arguments)
    done = kdiag(*arguments, *([] if shows else ["--dry-run"]))
    assert (done.code, done.err) == (0, "")
    assert done.out


def test_the_help_has_examples() -> None:
    """The test above has something to test."""
    assert len(example_lines()) >= 8


def test_nothing_listens_is_said_with_the_fix() -> None:
    """Exit code 3, the layer by its name, nothing on stdout."""
    done = kdiag("request", "-b", "localhost:1", "Metadata")
    assert (done.code, done.out) == (3, "")
    assert "TCP: connection refused" in done.err
