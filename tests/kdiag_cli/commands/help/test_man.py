"""Man pages say what `--help` says, and are shown without a warning."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kdiag_cli.app import COMMANDS
from kdiag_cli.commands.help.man import man_pages
from programs.kdiag_program import kdiag


def documented(**more: object) -> dict[str, object]:
    """Return a command as `--help-json` prints it."""
    document: dict[str, object] = {"command": "kdiag x", "help": "Do it.", "notes": ""}
    return document | {"examples": [], "arguments": [], "options": [], "commands": []} | more


def test_what_groff_would_take_for_its_own_is_escaped() -> None:
    """Backslashes, hyphens of options, and lines that begin like a request."""
    option = {
        "names": ["--a-b"],
        "metavar": "N",
        "help": "'%k\\n'",
        "heading": "Show",
        "default": 3,
    }
    (page,) = man_pages(documented(examples=[".hidden", "x -- 'y'"], options=[option])).values()

    assert "\n\\&.hidden\n" in page
    assert r"x \-\- \(aqy\(aq" in page
    assert r"\fB\-\-a\-b N\fR" in page
    assert r"\(aq%k\en\(aq Default: 3." in page


@pytest.mark.thorough
def test_every_command_has_a_page_that_man_shows_without_a_warning(tmp_path: Path) -> None:
    """Made from the declarations of `--help`; one line says where they are."""
    done = kdiag("completion", "man", tmp_path / "man1")
    pages = sorted((tmp_path / "man1").iterdir())

    assert (done.code, done.out) == (0, "")
    where = f"{tmp_path}/man1"
    assert done.err == f"kdiag: wrote {len(pages)} man pages to {where}: man -l {where}/kdiag.1\n"
    assert {"kdiag.1", *(f"kdiag-{name}.1" for name in COMMANDS)} <= {each.name for each in pages}
    text = (tmp_path / "man1" / "kdiag-groups.1").read_text(encoding="utf-8")
    assert r"\-\-lag\-above" in text
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    shown = subprocess.run(
        ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z", *pages],
        env=os.environ | {"LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stderr == ""


@pytest.mark.parametrize("arguments", [("man",), ("bash", "folder")])
def test_a_folder_belongs_to_man(arguments: tuple[str, ...]) -> None:
    """It is needed there, and for no shell."""
    done = kdiag("completion", *arguments)

    assert (done.code, done.out) == (2, "")
    assert "kdiag completion man DIR" in done.err


@pytest.mark.thorough
def test_pages_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    """With the reason, and the exit code of wrong usage."""
    (tmp_path / "file").touch()

    done = kdiag("completion", "man", tmp_path / "file" / "man1")

    assert (done.code, done.err) == (2, f"kdiag: {tmp_path}/file/man1: Not a directory\n")
