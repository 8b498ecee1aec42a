from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from kdiag_cli.commands.lab.demo import command
from kdiag_cli.commands.lab.demo.script import CAPTURE
from kdiag_cli.commands.lab.demo.shell import DemoError, DemoShell
from programs.kdiag_program import kdiag


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Return the folders in which the demo ran; it writes a capture and nothing else."""
    folders = []

    def play(shell: DemoShell) -> None:
        folders.append(shell.folder)
        (shell.folder / CAPTURE).write_bytes(b"packets")

    monkeypatch.chdir(tmp_path)
    with patch.object(command, "play", play):
        yield folders


def test_the_capture_may_be_kept(folders: list[Path], tmp_path: Path) -> None:
    """Where the user is, and one line says so; otherwise it is gone, which one line says too."""
    done = kdiag("demo")
    assert (done.code, done.err) == (
        0,
        "kdiag: demo.pcapng is removed; kdiag demo --keep leaves it here\n",
    )
    assert list(tmp_path.iterdir()) == []
    done = kdiag("demo", "--keep")
    assert (done.code, done.err) == (
        0,
        "kdiag: kept demo.pcapng: kdiag decode demo.pcapng --summary\n",
    )
    assert (tmp_path / CAPTURE).read_bytes() == b"packets"
    assert not any(each.exists() for each in folders)


def test_a_capture_of_that_name_is_not_overwritten(folders: list[Path], tmp_path: Path) -> None:
    """Nothing runs then."""
    (tmp_path / CAPTURE).write_bytes(b"mine")

    done = kdiag("demo", "--keep")

    assert (done.code, folders) == (2, [])
    assert "demo.pcapng exists here" in done.err
    assert (tmp_path / CAPTURE).read_bytes() == b"mine"


def test_what_goes_wrong_is_said() -> None:
    """In one line, with exit code 1."""

    def play(_: DemoShell) -> None:
        raise DemoError("kdiag lab ended with 2")

    with patch.object(command, "play", play):
        done = kdiag("demo")
    assert (done.code, done.err) == (1, "kdiag: kdiag lab ended with 2\n")
